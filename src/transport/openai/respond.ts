import type { FastifyReply, FastifyRequest } from 'fastify';
import { BehaviorSubject, lastValueFrom, map, takeUntil } from 'rxjs';
import { clientGone } from '../client-gone.ts';
import { chunks } from './chunks.ts';
import type { Job } from './job.ts';
import { sendEvents } from './sse.ts';
import { wholeReply } from './whole-reply.ts';

/** Runs the job and replies with JSON or with server-sent events. A client that goes away cancels all its choices. */
export async function respond(job: Job, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const frame = (object: string) => ({
    id: `${job.dialect.idPrefix}-${request.id}`,
    object,
    created: job.created,
    model: job.engine.model.name,
  });
  if (job.stream) {
    const demand$ = new BehaviorSubject(true);
    const chunk = frame(job.dialect.chunkObject);
    return sendEvents(reply, chunks(job, demand$).pipe(map((fields) => ({ ...chunk, ...fields }))), demand$);
  }
  const body = await lastValueFrom(wholeReply(job).pipe(takeUntil(clientGone(reply.raw))), { defaultValue: undefined });
  if (body === undefined) return reply.hijack();
  return { ...frame(job.dialect.object), ...body };
}
