import type { InferenceResult } from '@libs/inference';
import type { FastifyReply } from 'fastify';

/** The answer's bytes as they are. */
export function sendAnswer(reply: FastifyReply, { body }: InferenceResult): void {
  void reply.header('content-type', 'application/json; charset=utf-8').send(body);
}
