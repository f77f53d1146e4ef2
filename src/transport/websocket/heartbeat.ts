import type { WebSocket } from 'ws';

/** Pings every `everyMs`, and ends a connection of which nothing was heard for so long: its peer is gone. */
export function keepHeartbeat(socket: WebSocket, everyMs: number): void {
  let heard = true;
  const hear = () => {
    heard = true;
  };
  const beat = setInterval(() => {
    if (!heard) return socket.terminate();
    heard = false;
    socket.ping();
  }, everyMs);
  // Not fromEvent: it would take ws for an EventTarget, which has no pongs.
  socket
    .on('pong', hear)
    .on('message', hear)
    .once('close', () => clearInterval(beat));
}
