import type { Failpoint } from '@libs/failpoints';
import { chatRequests, linesOf } from '../batch-lines';
import { BatchRun, type BatchPlan } from '../batch-run';
import { findViolations, repeatedAnswers } from '../checker';
import type { BatchBody } from '../client';
import { eventually } from '../eventually';
import { accepted } from '../failpoint-deaths';
import { END_MS, PRICES, remove, type FailpointStage } from './failpoint-stage';
import { nothing, type Ordeal } from './ordeal';

/** Of batches, until one of their messages is relayed by the gateway. */
const MOST_SUBMISSIONS = 20;

type KeyedPlan = BatchPlan & { readonly idempotencyKey: string };

/** A gateway that dies while it takes in, removes or announces a batch, and a worker that dies while it runs one. */
export class BatchOrdeals {
  constructor(
    private readonly stage: FailpointStage,
    /** Of each batch. */
    private readonly lines: number,
  ) {}

  intake(point: Failpoint, storedBefore: 0 | 1): Ordeal {
    const plan = this.planOf(this.stage.newTag(point));
    return {
      app: 'gateway',
      deaths: [{ point, pass: 1, load: () => this.submit(plan) }],
      verify: async () => {
        expect(await this.batchesUnder(plan.idempotencyKey)).toBe(storedBefore);
        await this.expectOnce(plan);
      },
    };
  }

  /** Every app relays what it finds in the outbox, so batches are submitted until the gateway is first at one. */
  relay(point: Failpoint): Ordeal {
    const plans: KeyedPlan[] = [];
    const load = async (): Promise<void> => {
      for (let tries = 0; tries < MOST_SUBMISSIONS; tries += 1) {
        const plan = this.planOf(this.stage.newTag(point));
        plans.push(plan);
        await this.submit(plan);
      }
    };
    return {
      app: 'gateway',
      deaths: [{ point, pass: 1, load }],
      verify: async () => {
        for (const plan of plans) await this.expectOnce(plan);
      },
    };
  }

  /** A worker that dies, as often as that, on the way of one batch. */
  run(...points: readonly (readonly [point: Failpoint, pass: number])[]): Ordeal {
    const plan = this.planOf(this.stage.newTag(points[0]![0]));
    const load = (): Promise<unknown> => this.submit(plan);
    return {
      app: 'batch-worker',
      deaths: points.map(([point, pass], index) => ({ point, pass, load: index === 0 ? load : nothing })),
      verify: async () => this.expectSound(await this.submit(plan)),
    };
  }

  async upstreamRemoval(): Promise<Ordeal> {
    const { stage } = this;
    const point = 'upstream-batch-removed';
    const { id } = await this.finished('tests/native', stage.newTag(point));
    return {
      app: 'batch-worker',
      deaths: [{ point, pass: 1, load: async () => accepted(await remove(`/batches/${id}`, stage.client)) }],
      // The first request may have been answered before its worker was back, or after.
      verify: async () => {
        expect([200, 404]).toContain((await remove(`/batches/${id}`, stage.client)).status);
        await this.expectRemoved(id);
      },
    };
  }

  async purge(pass: 1 | 2): Promise<Ordeal> {
    const { stage } = this;
    const point = 'batch-table-purged';
    const { id } = await this.finished('tests/steady', stage.newTag(point));
    return {
      app: 'gateway',
      deaths: [{ point, pass, load: async () => accepted(await remove(`/batches/${id}`, stage.client)) }],
      verify: async () => {
        expect((await stage.client.getBatch(id)).body.results).toHaveLength(this.lines);
        expect((await remove(`/batches/${id}`, stage.client)).status).toBe(200);
        await this.expectRemoved(id);
      },
    };
  }

  private planOf(tag: string): KeyedPlan {
    return { tag, idempotencyKey: tag, lines: this.lines, model: 'tests/steady', prices: PRICES };
  }

  private submit(plan: BatchPlan): Promise<BatchRun> {
    const { installation, providers, client } = this.stage;
    return BatchRun.submit(installation, providers.lines, client, plan);
  }

  private async expectSound(run: BatchRun): Promise<void> {
    await run.untilTerminal(END_MS);
    // What was sent before the death is sent again, which may be after the end.
    const history = await eventually(`the messages about ${run.id} are sent`, END_MS, async () => {
      const all = await run.history();
      return all.books.outboxRows === 0 ? all : undefined;
    });
    expect(findViolations(history)).toEqual([]);
    expect(run.batch!.request_counts).toEqual({ total: this.lines, completed: this.lines, failed: 0 });
  }

  /** A caller who did not hear an answer submits the batch again under the same key; there is one, and it runs once. */
  private async expectOnce(plan: KeyedPlan): Promise<void> {
    const run = await this.submit(plan);
    await this.expectSound(run);
    expect(await this.batchesUnder(plan.idempotencyKey)).toBe(1);
    expect(repeatedAnswers(await run.history())).toBe(0);
  }

  private batchesUnder(key: string): Promise<number> {
    return this.stage.count('SELECT count(*) FROM batches WHERE idempotency_key = $1', key);
  }

  private async finished(model: string, tag: string): Promise<BatchBody> {
    const { client } = this.stage;
    const requests = chatRequests(linesOf(tag, this.lines));
    const { body } = await client.submitBatch({ endpoint: '/v1/chat/completions', model, requests });
    return eventually(`the end of ${body.id}`, END_MS, async () => {
      const answer = await client.getBatch(body.id);
      return answer.status === 200 && answer.body.status === 'completed' ? answer.body : undefined;
    });
  }

  private async expectRemoved(id: string): Promise<void> {
    expect((await this.stage.client.getBatch(id)).status).toBe(404);
    const left = `SELECT count(*) FROM batches b WHERE b.id = $1 AND (b.deleted_at IS NULL
      OR EXISTS (SELECT FROM batch_results r WHERE r.batch_number = b.number)
      OR EXISTS (SELECT FROM batch_lines l WHERE l.batch_number = b.number))`;
    expect(await this.stage.count(left, id)).toBe(0);
  }
}
