import { Actor, type LoadKey, type LoadTools } from './load';
import { makeCall } from './call';

interface Made {
  readonly data: { readonly id: string };
}

/** An administrator who brings credentials along, sets budgets, and takes both away again. */
export class Administrator extends Actor {
  #calls = 0;
  #workspace: { readonly id: string; readonly key: LoadKey } | undefined;

  constructor(tools: LoadTools, number: number) {
    super(tools, `administrator-${number}`, [300, 1_200]);
  }

  protected override async step(number: number): Promise<void> {
    if (this.random.chance(0.5)) await this.#bringCredential(number);
    else await this.#setBudget(number);
  }

  async #bringCredential(number: number): Promise<void> {
    const { random } = this;
    const key = `sk-storm-${String(number).padStart(6, '0')}-${'k'.repeat(20)}`;
    const changes = random.chance(0.5);
    const made = await this.#ask<Made>('POST /byok', 'POST', '/byok', { key, provider: 'cerebras', name: this.name });
    if (made.status !== 200 || made.body === null) return;
    const path = `/byok/${made.body.data.id}`;
    await this.#call(number, this.tools.apiKey, 'storm/own');
    if (changes) await this.#ask('PATCH /byok/:id', 'PATCH', path, { disabled: true });
    await this.#call(number, this.tools.apiKey, 'storm/own');
    for (let tries = 0; tries < 5; tries += 1) {
      const { status } = await this.#ask('DELETE /byok/:id', 'DELETE', path);
      if (status === 200 || status === 404) return;
      await this.pause();
    }
  }

  async #setBudget(number: number): Promise<void> {
    const workspace = (this.#workspace ??= await this.#makeWorkspace(number));
    if (workspace === undefined) return;
    const path = `/workspaces/${workspace.id}/budgets/lifetime`;
    const limit = this.random.pick([0.000_001, 0.001, 50]);
    await this.#ask('PUT /workspaces/:id/budgets', 'PUT', path, { limit_usd: limit });
    await this.#call(number, workspace.key, 'storm/plain');
    await this.#ask('DELETE /workspaces/:id/budgets', 'DELETE', path);
    await this.#call(number, workspace.key, 'storm/plain');
  }

  async #makeWorkspace(number: number): Promise<{ readonly id: string; readonly key: LoadKey } | undefined> {
    const name = `${this.name}-${number}`;
    const made = await this.#ask<Made>('POST /workspaces', 'POST', '/workspaces', { name, slug: name });
    if (made.status === null || made.status >= 300 || made.body === null) return undefined;
    const { id } = made.body.data;
    const key = await this.#ask<{ key: string }>('POST /keys', 'POST', '/keys', { name, workspace_id: id });
    if (key.status !== 201 || key.body === null) return undefined;
    return { id, key: { name, key: key.body.key } };
  }

  async #call(number: number, key: LoadKey, model: string): Promise<void> {
    this.#calls += 1;
    const marker = `${this.name}-${number}-call-${this.#calls}`;
    await makeCall(this.tools.client, this.tools.history, {
      actor: this.name,
      gateway: this.gateway(),
      api: 'chat',
      model,
      streamed: false,
      marker,
      prompt: `[[${marker}]] Who pays?`,
      key,
      mayBe: model === 'storm/own' ? [] : ['no-money'],
    });
  }

  #ask<T>(what: string, method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) {
    const { client, managementKey } = this.tools;
    const common = { actor: this.name, what, gateway: this.gateway(), key: managementKey, method, path } as const;
    return client.ask<T>({ ...common, ...(body !== undefined && { body }) });
  }
}
