import { setTimeout as delay } from 'node:timers/promises';
import type { StormHistory } from '../history';
import { GATEWAYS, type GatewayName } from '../parts';
import { Random } from '../random';
import type { StormClient } from '../storm-client';

/** A key as the load uses it; the history shows its `name`. */
export interface LoadKey {
  readonly name: string;
  readonly key: string;
}

/** What every actor of a storm's load works with. */
export interface LoadTools {
  readonly seed: number;
  readonly client: StormClient;
  readonly history: StormHistory;
  /** The demo workspace's. */
  readonly apiKey: LoadKey;
  readonly managementKey: string;
  readonly workspaceId: string;
  readonly webhookUrl: string;
  /** Turns true when the load is to end; an actor then ends what it is doing. */
  readonly isOver: () => boolean;
}

/** One actor: it does one thing after another until the load is over. */
export abstract class Actor {
  protected readonly random: Random;
  #steps = 0;

  constructor(
    protected readonly tools: LoadTools,
    protected readonly name: string,
    /** Pause between two steps. */
    private readonly pauseMs: readonly [number, number],
  ) {
    this.random = Random.for(tools.seed, name);
  }

  /** Never rejects; a defect of the load itself goes into the history as `load-error`. */
  async run(): Promise<void> {
    await this.pause();
    while (!this.tools.isOver()) {
      this.#steps += 1;
      try {
        await this.step(this.#steps);
      } catch (error) {
        this.tools.history.note('load-error', { actor: this.name, error: String((error as Error).stack ?? error) });
      }
      await this.pause();
    }
  }

  /** Takes so many steps, whether the load is over or not. */
  async times(count: number): Promise<void> {
    for (let number = 1; number <= count; number += 1) await this.step(number);
  }

  protected abstract step(number: number): Promise<void>;

  protected gateway(): GatewayName {
    return this.random.pick(GATEWAYS);
  }

  protected async pause(): Promise<void> {
    const [least, most] = this.pauseMs;
    const dueMs = performance.now() + this.random.int(least, most);
    while (performance.now() < dueMs && !this.tools.isOver()) {
      await delay(Math.min(100, Math.max(1, dueMs - performance.now())));
    }
  }
}
