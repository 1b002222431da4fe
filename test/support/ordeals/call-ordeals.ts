import { GenerationsRepository } from '@libs/persistence';
import type { ApiAnswer } from '../client';
import { amountOf } from '../decimal';
import { eventually } from '../eventually';
import { accepted } from '../failpoint-deaths';
import { END_MS, type CALLS, type FailpointStage } from './failpoint-stage';
import type { Ordeal } from './ordeal';

/** A gateway that dies with a call in its hands. */
export class CallOrdeals {
  constructor(private readonly stage: FailpointStage) {}

  async call(point: (typeof CALLS)[number], isStream: boolean): Promise<Ordeal> {
    const model = `tests/${point}`;
    const asked = (): number => this.stage.providers.calls.get(point) ?? 0;
    const [chargedBefore, askedBefore] = [await this.chargesOf(model), asked()];
    return {
      app: 'gateway',
      deaths: [{ point, pass: 1, load: async () => accepted(await this.chat(model, isStream)) }],
      verify: async () => {
        expect(asked()).toBe(askedBefore + (point === 'call-covered' ? 0 : 1));
        await this.giveUpDead();
        expect([await this.openOf(model), await this.heldUsd()]).toEqual([0, 0n]);
        expect(await this.chargesOf(model)).toBe(chargedBefore);
        expect((await this.chat(model, false)).status).toBe(200);
        await eventually('the call that was made again is charged', END_MS, async () =>
          (await this.chargesOf(model)) > chargedBefore ? true : undefined,
        );
        expect([await this.openOf(model), await this.chargesOf(model)]).toEqual([0, chargedBefore + 1]);
      },
    };
  }

  /** What a sweep does with the calls of a gateway that has been dead for a quarter of an hour. */
  async giveUpDead(): Promise<void> {
    const generations = new GenerationsRepository(this.stage.installation.database);
    await generations.abandon(await generations.findAbandoned(0, 1_000));
  }

  /** What is held for calls that are not settled. */
  async heldUsd(): Promise<bigint> {
    const sql = `SELECT coalesce(sum(hold_usd), 0)::text AS usd FROM generations WHERE state <> 'settled'`;
    return amountOf((await this.stage.installation.database.firstRow<{ usd: string }>({ sql }))!.usd);
  }

  private chat(model: string, stream: boolean): Promise<ApiAnswer> {
    const messages = [{ role: 'user', content: 'Hello?' }];
    return this.stage.client.chat({ model, messages, max_tokens: 8, stream });
  }

  private openOf(model: string): Promise<number> {
    return this.stage.count(`SELECT count(*) FROM generations WHERE state = 'open' AND model = $1`, model);
  }

  private chargesOf(model: string): Promise<number> {
    return this.stage.count(
      `SELECT count(*) FROM ledger_transfers t JOIN generations g ON g.id = t.reference
       WHERE t.kind = 'charge' AND g.model = $1`,
      model,
    );
  }
}
