import { Injectable, Logger } from '@nestjs/common';
import { AdvanceBatch, mintId, type JobPayload } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { failpoint } from '@libs/failpoints';
import {
  API_OF_BATCH,
  allowedCandidates,
  forbidsRetention,
  CallerCredentials,
  feeOf,
  formatUsd,
  parsePercent,
  type Candidate,
  type Endpoint,
  type PicoUsd,
  type RoutePolicy,
} from '@libs/inference';
import {
  countsByok,
  BatchIntakeRepository,
  BatchViewsRepository,
  CommitUnknown,
  LedgerRepository,
  OutboxRepository,
  SubmittedBefore,
  tryWhileHeldBack,
  type BatchIdempotency,
  type BatchOwner,
  type BatchView,
  type KeyLimit,
  type SpendingLimit,
} from '@libs/persistence';
import { OutboxRelay } from '@libs/platform';
import { GatewayEnv } from '../gateway.env';
import { UnknownSubmission } from '../idempotency/unknown-submission';
import { reservedOf, reservedShare, type KeysOfWork } from '../routing/charged-share';
import { InferenceRouting } from '../routing/inference-routing';
import { CallbackUrls } from '../webhooks/callback-urls';
import { tracedSubmission } from '../submissions/submission-trace';
import type { BatchHeader } from './batch-header';
import { BatchQuotesService } from './batch-quotes.service';
import { routeBatch } from './batch-route';
import { BatchUpload } from './batch-upload';
import { IntakeTurns } from '../submissions/intake-turns';

/** The owner of a batch, what its key may spend and which endpoints it may use. */
export interface BatchCaller extends BatchOwner {
  readonly keyLimit: KeyLimit | null;
  /** Budgets of the workspace; absent if it has none. */
  readonly budgets?: readonly SpendingLimit[] | undefined;
  /** Policies; each of them must allow the endpoint of the batch. */
  readonly policies: readonly RoutePolicy[];
  readonly defaultCallbackUrl: string | null;
  /** Trace context of the request that submitted the batch (W3C Trace Context), as its caller sent it. */
  readonly traceparent?: string | undefined;
}

interface ChosenEndpoint {
  readonly endpoint: Endpoint;
  /** The caller's own provider key that is used first; null for the operator's key. */
  readonly credentialId: string | null;
  /** True if the operator's key may not replace the caller's own. */
  readonly isOwnKeysOnly: boolean;
}

/** Lifetime of a hold: the batch window plus the time that a batch may take to finish. */
const HOLD_MS = 26 * 3_600_000;

/**
 * Accepts batches. Lines are written to PostgreSQL while they arrive. The last of them, the hold on the organization's
 * credits, the accepted batch and its first job message commit together. So a batch that was answered with 202 is
 * complete and paid for, and a refused one leaves nothing. Nothing after that commit can fail in a way that removes
 * rows, because the answer is made from what was committed.
 */
@Injectable()
export class BatchIntakeService {
  private readonly logger = new Logger(BatchIntakeService.name);

  constructor(
    private readonly intake: BatchIntakeRepository,
    private readonly batches: BatchViewsRepository,
    private readonly ledger: LedgerRepository,
    private readonly outbox: OutboxRepository,
    private readonly relay: OutboxRelay,
    private readonly routing: InferenceRouting,
    private readonly credentials: CallerCredentials,
    private readonly callbackUrls: CallbackUrls,
    private readonly quotes: BatchQuotesService,
    private readonly turns: IntakeTurns,
    private readonly env: GatewayEnv,
  ) {}

  /**
   * Returns the new batch, or the earlier batch if the idempotency key was used before with the same body.
   * @param signal aborts when the request ends early; then no batch is made, unless it is being accepted
   * @throws AppError for every refusal of the API; the uploaded rows are removed by then
   * @throws UnknownSubmission if it is unknown whether the batch was accepted; nothing is removed then
   */
  async receive(
    owner: BatchCaller,
    body: AsyncIterable<Buffer>,
    idempotencyKey: string | null,
    signal?: AbortSignal,
  ): Promise<BatchView> {
    const key = await this.intake.reserve(mintId('batch'));
    const upload = new BatchUpload(key, owner, this.intake, idempotencyKey, this.turns, signal);
    try {
      for await (const chunk of body) await upload.write(chunk);
      return await this.accept(owner, upload, signal);
    } catch (error) {
      if (!(error instanceof UnknownSubmission)) await this.discard(upload);
      throw error;
    }
  }

  /** Returns the accepted batch: this one, or that of an earlier submission with the same key. */
  private async accept(owner: BatchCaller, upload: BatchUpload, signal?: AbortSignal): Promise<BatchView> {
    const header = upload.finish();
    const idempotency = upload.takeIdempotency();
    try {
      const accept = await this.prepare(owner, upload, header, idempotency);
      const inTurn = (): Promise<BatchView> => this.turns.run(owner, accept, signal);
      const batch = await tryWhileHeldBack(owner.organizationId, inTurn);
      failpoint('batch-accepted');
      this.relay.wake();
      return batch;
    } catch (error) {
      if (error instanceof CommitUnknown) throw new UnknownSubmission('batch', upload.key.id, error);
      if (idempotency === null) throw error;
      await this.discard(upload);
      // An earlier batch is returned even if a new one would be refused now, for example because the first one used the
      // credits.
      const earlier = await this.earlierBatch(owner, idempotency);
      if (earlier !== null) return this.viewOf(earlier, owner);
      if (!(error instanceof SubmittedBefore)) throw error;
      throw new AppError('conflict', 'The batch of this Idempotency-Key is being deleted: use another key');
    }
  }

  private async earlierBatch(owner: BatchOwner, { key, requestHash }: BatchIdempotency): Promise<string | null> {
    const earlier = await this.intake.findSubmitted(owner, key);
    if (earlier === null || earlier.requestHash === requestHash) return earlier?.id ?? null;
    throw new AppError('unprocessable', 'Idempotency-Key was used before with another body', {
      metadata: { param: 'Idempotency-Key' },
    });
  }

  /** Checks all that may refuse the batch, and returns the transaction that accepts it. */
  private async prepare(
    owner: BatchCaller,
    upload: BatchUpload,
    header: BatchHeader,
    idempotency: BatchIdempotency | null,
  ): Promise<() => Promise<BatchView>> {
    const callbackUrl = this.callbackUrls.resolve(owner, header.callbackUrl);
    const { endpoint, credentialId, isOwnKeysOnly } = await this.route(owner, header);
    if (this.routing.takesPlainIdsOnly(endpoint)) upload.requirePlainIds();
    const keys = { hasOwnKey: credentialId !== null, isOwnKeyOnly: isOwnKeysOnly, isCounted: countsByok(owner) };
    const { estimate, reserved } = this.moneyFor(estimatedCost(upload, header, endpoint), keys);
    const amountUsd = formatUsd(reserved);
    const { workspaceId } = owner;
    const leavesNothing = (owner.policies ?? []).some(forbidsRetention);
    const quote = await this.quotes.quote({
      leavesNothing,
      workspaceId,
      header,
      endpoint,
      credentialId,
      lines: upload.lineCount,
      estimate,
    });
    // Logged once, although the transaction may run twice.
    let trace: JobPayload | undefined;
    const slice = upload.takeSlice();
    return () =>
      this.intake.accepting(upload.key, async (session) => {
        await upload.writeLastSlice(session, slice);
        await this.ledger.openHold(session, {
          id: upload.key.id,
          organizationId: owner.organizationId,
          workspaceId: owner.workspaceId,
          apiKeyHash: owner.apiKeyHash,
          keyLimit: owner.keyLimit,
          budgets: owner.budgets,
          amountUsd,
          lifetimeMs: HOLD_MS,
        });
        const batch = await this.intake.accept(session, upload.key, {
          endpoint: header.endpoint,
          model: header.model,
          provider: endpoint.provider.slug,
          upstreamModel: endpoint.upstreamModel,
          credentialId,
          isOwnKeysOnly,
          leavesNothing,
          total: upload.lineCount,
          callbackUrl,
          idempotency,
          quote,
        });
        trace ??= traceOf(owner, upload, header);
        await this.outbox.add(session, AdvanceBatch, { batchId: upload.key.id, workspaceId, ...trace });
        failpoint('batch-stored');
        return batch;
      });
  }

  private async route(
    { organizationId, workspaceId, apiKeyHash, policies }: BatchCaller,
    header: BatchHeader,
  ): Promise<ChosenEndpoint> {
    const scope = { organizationId, workspaceId, apiKeyHash };
    const own = await this.credentials.ownCredentials(scope);
    const catalogue = this.routing.catalogue();
    const model = catalogue.findModel(header.model);
    const keysFor = (endpoint: Endpoint): readonly Candidate[] => {
      if (model === null) return [];
      return this.routing.keysFor({ model, endpoint }, API_OF_BATCH[header.endpoint], own, scope);
    };
    const isUsable = (endpoint: Endpoint): boolean => keysFor(endpoint).length > 0;
    const permit = (endpoints: readonly Endpoint[]): Endpoint[] => {
      const allowed = allowedCandidates(endpoints.flatMap(keysFor), policies, header.model);
      return endpoints.filter((one) => allowed.some(({ endpoint }) => endpoint === one));
    };
    const credentialOf = (endpoint: Endpoint): string | null => keysFor(endpoint)[0]?.credential?.id ?? null;
    const isOwnKeysOnly = (endpoint: Endpoint): boolean =>
      keysFor(endpoint).every(({ credential }) => credential != null);
    const hasOwnKey = (endpoint: Endpoint): boolean => credentialOf(endpoint) !== null;
    const endpoint = routeBatch(header, catalogue, { isUsable, hasOwnKey, permit });
    return { endpoint, credentialId: credentialOf(endpoint), isOwnKeysOnly: isOwnKeysOnly(endpoint) };
  }

  /** Returns the expected cost of the lines, and the amount to reserve for them. */
  private moneyFor(listPrice: PicoUsd, keys: KeysOfWork): { estimate: PicoUsd; reserved: PicoUsd } {
    const fee = parsePercent(this.env.BYOK_FEE_PERCENT);
    const estimate = keys.hasOwnKey ? feeOf(listPrice, fee) : listPrice;
    return { estimate, reserved: reservedOf(listPrice, reservedShare(keys, fee)) };
  }

  /** The caller gets the original error. Rows that could not be removed now are removed later. */
  private async discard(upload: BatchUpload): Promise<void> {
    try {
      await upload.discard();
    } catch (error) {
      this.logger.warn(`the rows of a refused batch stay until they are swept: ${AppError.from(error).internal}`);
    }
  }

  private async viewOf(id: string, owner: BatchOwner): Promise<BatchView> {
    const view = await this.batches.findForWorkspace(id, owner);
    if (view !== null) return view;
    throw new AppError('server', 'Internal error', { internal: `batch ${id} of an idempotency key is not there` });
  }
}

function estimatedCost(upload: BatchUpload, header: BatchHeader, endpoint: Endpoint): bigint {
  return upload.estimate.costAt(endpoint, API_OF_BATCH[header.endpoint]);
}

function traceOf(
  { workspaceId, traceparent }: BatchCaller,
  { key, lineCount, startedMs }: BatchUpload,
  { model }: BatchHeader,
) {
  return tracedSubmission({
    name: `create_batch ${model}`,
    startMs: startedMs,
    cause: traceparent,
    attributes: {
      'gen_ai.request.model': model,
      'sluice.workspace.id': workspaceId,
      'sluice.batch.id': key.id,
      'sluice.batch.lines': lineCount,
    },
  });
}
