import { chatRequests, embeddingRequests, linesOf, type TestLine } from './batch-lines';
import type { TestPrices } from './catalogue';
import type { ApiClient, BatchBody } from './client';
import { eventually } from './eventually';
import { readBooks, type BatchHistory } from './history';
import type { Installation } from './installation';
import type { Upstream } from './upstream';

export interface BatchPlan {
  /** Keeps this batch's lines apart from those of others at the upstream; letters, digits and hyphens. */
  readonly tag: string;
  readonly lines: number;
  readonly model: string;
  /** What a line costs per token when it runs in a batch. */
  readonly prices: TestPrices;
  /** Default: chat. */
  readonly endpoint?: BatchHistory['endpoint'];
  /** Default: none. */
  readonly idempotencyKey?: string;
}

/** One look at the batch that brought no batch: the status, or 0 when there was no answer. */
export interface FailedLook {
  readonly atMs: number;
  readonly status: number;
}

const TERMINAL = new Set(['completed', 'failed', 'expired', 'cancelled']);

/** A batch from its submission to its end, as a caller lives through it who asks now and then how it is doing. */
export class BatchRun {
  readonly statuses: string[] = [];
  readonly failedLooks: FailedLook[] = [];
  #batch: BatchBody | null = null;
  /** An accepted batch that was not found once is lost, even if it comes back. */
  #wasLost = false;

  private constructor(
    private readonly parts: {
      readonly installation: Installation;
      readonly upstream: Upstream;
      readonly client: ApiClient;
      readonly plan: BatchPlan;
      readonly lines: readonly TestLine[];
    },
    readonly id: string,
  ) {}

  /** @throws Error for any answer but 202 */
  static async submit(
    installation: Installation,
    upstream: Upstream,
    client: ApiClient,
    plan: BatchPlan,
  ): Promise<BatchRun> {
    const endpoint = plan.endpoint ?? '/v1/chat/completions';
    const lines = linesOf(plan.tag, plan.lines);
    const requests = endpoint === '/v1/embeddings' ? embeddingRequests(lines) : chatRequests(lines);
    const answer = await client.submitBatch({ endpoint, model: plan.model, requests }, plan.idempotencyKey);
    if (answer.status !== 202) throw new Error(`the batch was answered with ${answer.status}: ${answer.text}`);
    const run = new BatchRun({ installation, upstream, client, plan, lines }, answer.body.id);
    run.#see(answer.body);
    return run;
  }

  get batch(): BatchBody | null {
    return this.#batch;
  }

  /** Looks at the batch until it has come to an end. Looks that fail are counted and repeated. */
  async untilTerminal(withinMs: number): Promise<BatchBody> {
    return eventually(`the end of ${this.id}`, withinMs, async () => {
      await this.look();
      return this.#batch !== null && TERMINAL.has(this.#batch.status) ? this.#batch : undefined;
    });
  }

  async look(): Promise<void> {
    try {
      const { status, body } = await this.parts.client.getBatch(this.id);
      if (status === 404) this.#wasLost = true;
      if (status === 200) this.#see(body);
      else this.failedLooks.push({ atMs: Date.now(), status });
    } catch {
      this.failedLooks.push({ atMs: Date.now(), status: 0 });
    }
  }

  /** All that is known of the batch now. */
  async history(): Promise<BatchHistory> {
    const { installation, upstream, plan, lines } = this.parts;
    const markers = new Set(lines.map(({ marker }) => marker));
    return {
      endpoint: plan.endpoint ?? '/v1/chat/completions',
      lines,
      prices: plan.prices,
      batch: this.#wasLost ? null : this.#batch,
      statuses: this.statuses,
      calls: (await upstream.calls()).filter(({ marker }) => markers.has(marker)),
      books: await readBooks(installation.database, this.id),
    };
  }

  #see(batch: BatchBody): void {
    this.#batch = batch;
    if (this.statuses.at(-1) !== batch.status) this.statuses.push(batch.status);
  }
}
