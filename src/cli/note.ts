/** A line on stderr of how far a long run is: in a pipe or a file, where there is no bar. */
export function note(line: string): void {
  if (!process.stderr.isTTY) process.stderr.write(`${line}\n`);
}
