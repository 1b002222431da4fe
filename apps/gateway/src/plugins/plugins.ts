import type { Model, StreamableApi } from '@libs/inference';
import type { CheckedCall, IncomingCall } from '../inference/checked-call';
import { fieldsOf, refusal } from '../server-tools/named-tools';
import type { BoundPlugin, Plugin } from './plugin';
import { PluginRun } from './plugin-run';

/** The plugins that this installation offers, in the order in which they work. */
export class Plugins {
  constructor(
    private readonly plugins: readonly Plugin[],
    private readonly findModel: (slug: string) => Model | null,
  ) {}

  /**
   * What a call's `plugins[]` ask for; null for a call without any that are enabled. The call is checked.
   *
   * @throws AppError invalid_request naming the member
   */
  runFor(api: StreamableApi, call: IncomingCall, { route, maxTokens }: CheckedCall): PluginRun | null {
    const entries: unknown = fieldsOf(call.parsed)['plugins'];
    if (entries === undefined || entries === null) return null;
    if (!Array.isArray(entries)) throw refusal('plugins', 'must be an array');
    const bound = this.#bind(entries);
    if (bound.length === 0) return null;
    const model = this.findModel(route.model);
    const context = { api, model, modelSlug: route.model, maxTokens, signal: call.abort.toAbortSignal() };
    return new PluginRun(bound, call, context);
  }

  #bind(entries: readonly unknown[]): readonly BoundPlugin[] {
    const bound = new Map<string, BoundPlugin>();
    for (const [index, entry] of entries.entries()) {
      const path = `plugins[${index}]`;
      const settings = fieldsOf(entry);
      const { id, enabled = true } = settings;
      if (typeof id !== 'string') throw refusal(`${path}.id`, 'must be the name of a plugin');
      if (typeof enabled !== 'boolean') throw refusal(`${path}.enabled`, 'must be true or false');
      if (!enabled) continue;
      const plugin = this.plugins.find((one) => one.id === id);
      const offered = this.plugins.map((one) => one.id).join(', ');
      if (plugin === undefined) throw refusal(`${path}.id`, `is no plugin that is offered here; there are ${offered}`);
      if (bound.has(id)) throw refusal(`${path}.id`, 'names a plugin that is there twice');
      bound.set(id, plugin.bind(settings, path));
    }
    return this.plugins.flatMap(({ id }) => bound.get(id) ?? []);
  }
}
