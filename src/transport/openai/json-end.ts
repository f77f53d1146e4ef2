/**
 * Looks for the end of one JSON value, in an object that is open already, in text that comes in pieces: the length of the
 * piece that still belongs to it, or undefined while it goes on. It ends before the brace that nothing in it has opened,
 * so that a number ends, too.
 */
export function jsonEnd(): (piece: string) => number | undefined {
  let depth = 0;
  let inString = false;
  let escaped = false;
  return (piece) => {
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at];
      if (escaped) escaped = false;
      else if (inString) {
        escaped = character === '\\';
        inString = character !== '"';
      } else if (character === '"') inString = true;
      else if (character === '{') depth += 1;
      else if (character === '}') {
        if (depth === 0) return at;
        depth -= 1;
      }
    }
    return undefined;
  };
}
