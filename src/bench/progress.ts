import { SingleBar } from 'cli-progress';

export interface Progress {
  /** One part of the whole is done. */
  readonly advance: () => void;
  readonly stop: () => void;
}

/** A bar on a terminal; nothing at all in a pipe or a file, where it would only be in the way. */
export function createProgress(label: string, total: number, stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY) return { advance: () => {}, stop: () => {} };
  const bar = new SingleBar({
    format: `${label} {bar} {value}/{total}, {eta_formatted} left`,
    stream,
    clearOnComplete: true,
  });
  bar.start(total, 0);
  return { advance: () => bar.increment(), stop: () => bar.stop() };
}
