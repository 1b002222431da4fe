import { setTimeout as delay } from 'node:timers/promises';
import type { KeyRecord, PlantedRefusal } from '../evidence';
import { GATEWAYS, type GatewayName } from '../parts';
import { makeCall } from './call';
import { Actor, type LoadKey, type LoadTools } from './load';

/** Less than a call's hold, and a few times it. */
const LIMITS = [null, null, 0.000_001, 0.000_1] as const;
const PROBES = 14;
const PROBE_EVERY_MS = 220;

interface MadeKey {
  readonly key: string;
  readonly data: { readonly hash: string };
}

/** An administrator who makes keys, uses them, changes their limits, and revokes them while they are in use. */
export class KeyManager extends Actor {
  #calls = 0;

  constructor(tools: LoadTools, number: number) {
    super(tools, `keys-${number}`, [100, 600]);
  }

  protected override async step(number: number): Promise<void> {
    const { random, tools } = this;
    const name = `${this.name}-${number}`;
    const limit = random.pick(LIMITS);
    const how = random.pick(['delete', 'disable'] as const);
    const changesLimit = random.chance(0.4);
    const made = await this.#manage<MadeKey>('POST /keys', 'POST', '/keys', { name, ...(limit !== null && { limit }) });
    if (made.status !== 201 || made.body === null) return;
    const { key, data } = made.body;
    const record: KeyRecord = { name, hash: data.hash, revokedMs: null, isDoubtful: false };
    tools.history.addKey(record);
    const used: LoadKey = { name, key };
    const mayBe: PlantedRefusal[] = limit === null && !changesLimit ? [] : ['no-money'];
    for (const gateway of GATEWAYS) await this.#use(used, gateway, mayBe);
    if (changesLimit) {
      const path = `/keys/${record.hash}`;
      await this.#manage('PATCH /keys/:hash', 'PATCH', path, { limit: random.pick([0, 5, null]) });
      await this.#use(used, this.gateway(), mayBe);
    }
    await this.#revoke(record, used, how, mayBe);
  }

  /** Both gateways are asked with the key, without a pause, while it is revoked and for seconds after. */
  async #revoke(
    record: KeyRecord,
    used: LoadKey,
    how: 'delete' | 'disable',
    mayBe: readonly PlantedRefusal[],
  ): Promise<void> {
    const may = [...mayBe, 'revoked' as const];
    const probing = GATEWAYS.map(async (gateway) => {
      for (let probe = 0; probe < PROBES; probe += 1) {
        await this.#use(used, gateway, may);
        await delay(PROBE_EVERY_MS);
      }
    });
    const path = `/keys/${record.hash}`;
    const answer =
      how === 'delete'
        ? await this.#manage('DELETE /keys/:hash', 'DELETE', path)
        : await this.#manage('PATCH /keys/:hash', 'PATCH', path, { disabled: true });
    if (answer.status === 200) record.revokedMs = answer.endMs;
    else record.isDoubtful = true;
    this.tools.history.note('revoked', record);
    await Promise.all(probing);
  }

  #manage<T>(what: string, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) {
    const { client, managementKey } = this.tools;
    const common = { actor: this.name, what, gateway: this.gateway(), key: managementKey, method, path } as const;
    return client.ask<T>({ ...common, ...(body !== undefined && { body }) });
  }

  async #use(key: LoadKey, gateway: GatewayName, mayBe: readonly PlantedRefusal[]): Promise<void> {
    this.#calls += 1;
    const marker = `${this.name}-call-${this.#calls}`;
    const { client, history } = this.tools;
    await makeCall(client, history, {
      actor: this.name,
      gateway,
      api: 'chat',
      model: 'storm/plain',
      streamed: false,
      marker,
      prompt: `[[${marker}]] Is the key good?`,
      key,
      mayBe,
    });
  }
}
