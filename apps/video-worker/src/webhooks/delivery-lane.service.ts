import { Injectable, Logger } from '@nestjs/common';
import type { Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  isRefusedForItsData,
  WebhookDeliveriesRepository,
  type AttemptResult,
  type ClaimedWebhook,
} from '@libs/persistence';
import { counter, durationHistogram, EachAlone, LeasedWork } from '@libs/platform';
import { receiverVerdict, retryDelayMs, type AttemptOutcome } from './attempt-outcome';
import {
  DELIVERIES_AT_ONCE,
  DELIVERIES_PER_HOST,
  DELIVERIES_PER_ORGANIZATION,
  DELIVERIES_PER_ORGANIZATION_AT_HOST,
} from './delivery-bounds';
import { FAILURES_TO_OPEN, type Admission } from './receiver-breaker';
import { ReceiverBreakers } from './receiver-breakers';
import { SigningSecrets } from './signing-secrets';
import { WebhookSender } from './webhook-sender';

/** Longer than an attempt, the request for its secrets and the write of its outcome can take. */
const LEASE_MS = 45_000;
const DRAIN_MS = 18_000;
/** The wait when not even an attempt could be made. */
const NOT_TRIED_DELAY_MS = 5_000;
/** Longest time that a receiver's breaker may hold back an event; ten attempts take about as long. */
const LIFETIME_MS = 75 * 3_600_000;
/**
 * Consecutive deaths of workers after which an event is given up. The first ten may come from a bad deployment. Later
 * claims are up to an hour apart, so that an event that kills workers does so rarely.
 */
const MOST_DEATHS = 30;
const NO_MORE_WORKERS = 'its workers ended before the end of their attempts';
const NO_MORE_TIME = 'its receiver failed for as long as it was owed';
const MOST_AT_ONCE = {
  perHost: DELIVERIES_PER_HOST,
  perOrganization: DELIVERIES_PER_ORGANIZATION,
  perOrganizationAtHost: DELIVERIES_PER_ORGANIZATION_AT_HOST,
} as const;
const UNCONDITIONAL: Admission = { kind: 'attempt', isProbe: false };

const attempts = counter({
  name: 'sluice_webhook_attempts_total',
  help: 'Attempts to deliver an event, by what became of them',
  labelNames: ['outcome'],
});
const attemptSeconds = durationHistogram({
  name: 'sluice_webhook_attempt_seconds',
  help: 'From the start of an attempt to the head of the answer',
});
const heldBack = counter({
  name: 'sluice_webhooks_held_back_total',
  help: 'Events that were due and put off, because their receiver keeps failing',
});

/**
 * Sends events: many at a time, but few per host and per organization, so that slow or unreachable receivers do not
 * delay the others. A receiver that failed several times in a row is probed with one event at a time, while its other
 * events wait.
 *
 * An attempt is claimed in its row before it is made, and its outcome is stored with the fence of the claim. If the
 * worker dies in between, the claim expires and the event is sent once more, with the same id.
 */
@Injectable()
export class DeliveryLaneService {
  private readonly logger = new Logger(DeliveryLaneService.name);
  private readonly each = new EachAlone('webhooks.deliver', this.logger);
  private readonly callOff = new AbortController();
  private readonly work = new LeasedWork<ClaimedWebhook>({
    look: () => this.claim(),
    // An attempt whose end could not be recorded is claimed again after its lease and a pause.
    run: (webhook) => this.each.run(webhook.id, () => this.run(webhook)),
    onEnd: () => this.wake(),
  });

  constructor(
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly secrets: SigningSecrets,
    private readonly sender: WebhookSender,
    private readonly breakers: ReceiverBreakers,
  ) {}

  /** There may be something to send. */
  wake(): void {
    this.work.wake();
  }

  /** Starts nothing new, lets attempts end, and gives back what is left after 18 seconds. */
  drain(): Promise<void> {
    return this.work.drain(DRAIN_MS, () => this.callOff.abort(new Error('the worker stops')));
  }

  private async claim(): Promise<void> {
    const limit = DELIVERIES_AT_ONCE - this.work.held.length;
    if (limit <= 0) return;
    try {
      const exceptIds = this.each.restingIds();
      const due = await this.deliveries.claim({ limit, ...MOST_AT_ONCE, leaseMs: LEASE_MS, exceptIds });
      for (const webhook of due) this.work.begin(webhook);
    } catch (error) {
      this.logger.warn(`events could not be claimed: ${messageOf(error)}`);
    }
  }

  private async run(webhook: ClaimedWebhook): Promise<void> {
    if (webhook.deaths >= MOST_DEATHS) {
      await this.giveUpUntried(webhook, NO_MORE_WORKERS);
      return;
    }
    // An event that a caller sends again by hand is always sent, so that the caller sees the receiver's answer.
    const admission = webhook.isByHand ? UNCONDITIONAL : this.breakers.admit(webhook);
    if (admission.kind === 'wait') await this.holdBack(webhook, admission.waitMs);
    else await this.attempt(webhook, admission.isProbe);
  }

  private async attempt(webhook: ClaimedWebhook, isProbe: boolean): Promise<void> {
    let outcome: AttemptOutcome | null = null;
    try {
      const secrets = await this.secretsFor(webhook);
      if (secrets === null) return;
      const stopTimer = attemptSeconds.startTimer();
      outcome = await this.sender.send(webhook, secrets, this.callOff.signal).catch(() => null);
      stopTimer();
    } finally {
      this.judge(webhook, isProbe, outcome);
    }
    failpoint('webhook-sent');
    if (outcome === null) await this.deliveries.release(webhook, 0);
    else await this.noteInAnyCase(webhook, outcome);
  }

  /** Stores an outcome, without its text if PostgreSQL refuses that; otherwise the event would be sent again. */
  private async noteInAnyCase(webhook: ClaimedWebhook, outcome: AttemptOutcome): Promise<void> {
    try {
      await this.note(webhook, outcome);
    } catch (error) {
      if (outcome.kind === 'delivered' || !isRefusedForItsData(error)) throw error;
      this.each.failed(webhook.id, error);
      await this.note(webhook, { ...outcome, error: 'the attempt failed' });
    }
  }

  private judge(webhook: ClaimedWebhook, isProbe: boolean, outcome: AttemptOutcome | null): void {
    const verdict = outcome === null ? 'unknown' : receiverVerdict(outcome);
    if (!this.breakers.note(webhook, isProbe, verdict)) return;
    this.logger.warn(`the receiver of event ${webhook.id} failed ${FAILURES_TO_OPEN} times in a row: it is probed`);
  }

  /** Delays the event without counting an attempt, together with all others that wait for this receiver. */
  private async holdBack(webhook: ClaimedWebhook, delayMs: number): Promise<void> {
    if (webhook.owedForMs >= LIFETIME_MS) {
      await this.giveUpUntried(webhook, NO_MORE_TIME);
      return;
    }
    const count = await this.deliveries.holdBack(webhook, { delayMs, lifetimeMs: LIFETIME_MS });
    heldBack.inc(count);
  }

  /** An event of a workspace with secrets is never sent unsigned: without its secrets there is no attempt. */
  private async secretsFor(webhook: ClaimedWebhook): Promise<readonly Secret[] | null> {
    try {
      return await this.secrets.of(webhook.organizationId, webhook.workspaceId);
    } catch (error) {
      this.logger.warn(`event ${webhook.id} waits for its signing secret: ${messageOf(error)}`);
      await this.deliveries.release(webhook, NOT_TRIED_DELAY_MS);
      return null;
    }
  }

  private async note(webhook: ClaimedWebhook, outcome: AttemptOutcome): Promise<void> {
    if (outcome.kind === 'delivered') {
      attempts.inc({ outcome: 'delivered' });
      await this.deliveries.markDelivered(webhook, outcome.status);
      return;
    }
    const { status, error } = outcome;
    const retryAfterMs = outcome.kind === 'failed' ? outcome.retryAfterMs : null;
    const delayMs = outcome.kind === 'failed' ? retryDelayMs(webhook.attempts, retryAfterMs, Math.random()) : null;
    if (delayMs === null) {
      await this.giveUp(webhook, { status, error });
      return;
    }
    attempts.inc({ outcome: 'failed' });
    this.logger.log(`event ${webhook.id}, attempt ${webhook.attempts}: ${error}`);
    await this.deliveries.postpone(webhook, { status, error }, delayMs);
  }

  private async giveUpUntried(webhook: ClaimedWebhook, why: string): Promise<void> {
    attempts.inc({ outcome: 'given_up' });
    this.logger.warn(`event ${webhook.id} is given up after ${webhook.attempts - 1} attempts: ${why}`);
    await this.deliveries.giveUpUntried(webhook, why);
  }

  private async giveUp(webhook: ClaimedWebhook, result: AttemptResult): Promise<void> {
    attempts.inc({ outcome: 'given_up' });
    this.logger.warn(`event ${webhook.id} is given up at attempt ${webhook.attempts}: ${result.error}`);
    await this.deliveries.giveUp(webhook, result);
  }
}

function messageOf(thrown: unknown): string {
  const { message, internal } = AppError.from(thrown);
  return internal ?? message;
}
