/**
 * Looks for the end of one JSON object in text that comes in pieces: the length of the piece that still belongs to it, or
 * undefined while it goes on.
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
        depth -= 1;
        if (depth === 0) return at + 1;
      }
    }
    return undefined;
  };
}
