export { requireApiKey } from './access/authentication.ts';
export { isLoopback } from './access/loopback.ts';
export { admin, type EngineAdmin } from './admin/admin.ts';
export { observe } from './admin/observe.ts';
export type {
  BlockMessage,
  EngineMessage,
  FrameMessage,
  ObserveMessage,
  SequenceMessage,
} from './admin/observe-messages.ts';
export { clientGone } from './client-gone.ts';
export { type EngineSource, readyEngine } from './engine-source.ts';
export { HttpError, toErrorReply, type WireError } from './errors.ts';
export { health } from './health.ts';
export { createInstruments, type Instruments } from './metrics/instruments.ts';
export { meteredSource } from './metrics/metered-engine.ts';
export { metrics } from './metrics/metrics.ts';
export { chatCompletions } from './openai/chat-completions.ts';
export { completions } from './openai/completions.ts';
export { models } from './openai/models.ts';
export { sendEvents } from './openai/sse.ts';
export { tokenize } from './openai/tokenize.ts';
export { toWireMetrics, type WireMetrics } from './openai/usage.ts';
export { playground } from './playground/playground.ts';
export { buildServer, SERVER_LIMITS, type ServerLimits, type ServerOptions } from './server.ts';
export { logStatus, type Status } from './status-line.ts';
export type { WebSocketLimits } from './websocket/serve-socket.ts';
export { addWebSockets, WEBSOCKET_LIMITS, websocket } from './websocket/websocket.ts';
