import type { ApiClient } from '../support/client';

export interface Served {
  readonly callsPerSecond: number;
  /** How many calls ended with another status than 200; 0 stands for no answer. */
  readonly failures: Readonly<Record<string, number>>;
  readonly slowestMs: number;
  /** Of the checks of readiness. */
  readonly healthStatuses: readonly number[];
}

const CALLERS = 8;
const HEALTH_EVERY_MS = 200;

/** A well-behaved tenant: some callers that each make one call after another. */
export class Witness {
  constructor(
    private readonly client: ApiClient,
    private readonly model: string,
    private readonly origin: string,
  ) {}

  /** What it gets in so many milliseconds. */
  async watch(ms: number): Promise<Served> {
    const endMs = performance.now() + ms;
    const failures: Record<string, number> = {};
    let [calls, slowestMs] = [0, 0];
    const caller = async (): Promise<void> => {
      while (performance.now() < endMs) {
        const startedMs = performance.now();
        const status = await this.#call();
        slowestMs = Math.max(slowestMs, performance.now() - startedMs);
        if (status === 200) calls += 1;
        else failures[status] = (failures[status] ?? 0) + 1;
      }
    };
    const callers = Promise.all(Array.from({ length: CALLERS }, caller));
    const healthStatuses = await this.#checkHealth(endMs);
    await callers;
    return { callsPerSecond: calls / (ms / 1_000), failures, slowestMs: Math.round(slowestMs), healthStatuses };
  }

  async #call(): Promise<number> {
    const body = { model: this.model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 8 };
    return this.client.chat(body).then(
      ({ status }) => status,
      () => 0,
    );
  }

  async #checkHealth(endMs: number): Promise<number[]> {
    const statuses = new Set<number>();
    while (performance.now() < endMs) {
      const status = await fetch(`${this.origin}/health/ready`).then(
        async (response) => (await response.arrayBuffer(), response.status),
        () => 0,
      );
      statuses.add(status);
      await new Promise((resolve) => setTimeout(resolve, HEALTH_EVERY_MS));
    }
    return [...statuses];
  }
}
