import { Injectable } from '@nestjs/common';
import type { Secret } from '@libs/contracts';
import type { ClaimedWebhook } from '@libs/persistence';
import { Egress } from '@libs/platform';
import { VideoWorkerEnv } from '../video-worker.env';
import { outcomeOf, outcomeOfError, type AttemptOutcome } from './attempt-outcome';
import { webhookHeaders } from './webhook-headers';

/** Covers everything from name resolution to the response headers. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
const NO_BODY_BYTES = 0;

/** Makes one attempt: builds the event, signs it, sends it and returns the outcome. */
@Injectable()
export class WebhookSender {
  constructor(
    private readonly egress: Egress,
    private readonly env: VideoWorkerEnv,
  ) {}

  /** @throws the signal's reason if the attempt was cancelled; everything else is an outcome */
  async send(webhook: ClaimedWebhook, secrets: readonly Secret[], signal: AbortSignal): Promise<AttemptOutcome> {
    const { SERVICE_NAME: serviceName } = this.env;
    const { id } = webhook;
    const body = bodyOf(webhook);
    const timestamp = Math.floor(Date.now() / 1_000);
    try {
      const answer = await this.egress.fetch(webhook.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `${serviceName}-webhooks`,
          ...webhookHeaders(serviceName, { id, timestamp, body, secrets }),
        },
        body,
        maxBytes: NO_BODY_BYTES,
        timeoutMs: ATTEMPT_TIMEOUT_MS,
        holder: webhook.workspaceId,
        subject: 'callback_url',
        signal,
      });
      return outcomeOf(answer, Date.now());
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      return outcomeOfError(thrown);
    }
  }
}

/** Returns the body of the event: the same bytes for every attempt, so that receivers can compare them. */
function bodyOf({ type, createdAt, payload }: ClaimedWebhook): string {
  return `{"type":${JSON.stringify(type)},"created_at":"${createdAt.toISOString()}","data":${payload}}`;
}
