import {
  readRoutePolicies,
  refuseKeepers,
  type Model,
  type ResolvedModel,
  type StreamableApi,
  type UnresolvedModel,
} from '@libs/inference';
import { holdersOf } from '../http/claimant';
import type { RouteWish } from '../routing/route-request';
import type { IncomingCall } from '../generations/incoming-call';
import { fieldsOf, refusal } from '../server-tools/named-tools';
import type { BoundPlugin, Plugin } from './plugin';
import { PluginRun } from './plugin-run';

const WEB = 'web';
/** Model suffix that asks for the web plugin. An entry for the plugin has precedence, even a disabled one. */
const ONLINE = ':online';

/** The parts of a validated call that plugins use. */
interface PluginWish {
  readonly route: RouteWish;
  readonly maxTokens: number | null;
}

/** The plugins of this installation, in the order in which they run. */
export class Plugins {
  constructor(
    private readonly plugins: readonly Plugin[],
    private readonly resolve: (name: string) => ResolvedModel | UnresolvedModel,
  ) {}

  /**
   * Returns the enabled plugins that a validated call asks for in `plugins[]` or by the model suffix `:online`; null if
   * there are none.
   * @throws AppError invalid_request with the name of the field; the errors of `refuseKeepers` for a plugin that sends
   * text to an external service
   */
  runFor(api: StreamableApi, call: IncomingCall, { route, maxTokens }: PluginWish): PluginRun | null {
    const entries: unknown = fieldsOf(call.parsed)['plugins'] ?? [];
    if (!Array.isArray(entries)) throw refusal('plugins', 'must be an array');
    const bound = this.#wanted(entries, [route.model, ...route.models]);
    if (bound.length === 0) return null;
    for (const plugin of bound) plugin.check?.(api, fieldsOf(call.parsed));
    const policies = readRoutePolicies(call.caller.policies ?? []);
    const keepers = bound.flatMap(({ keeper }) => keeper ?? []);
    refuseKeepers({ policies, preferences: route.preferences }, [route.model, ...route.models], keepers);
    const model: Model | null = this.resolve(route.model).model;
    const work = { holders: holdersOf(call.caller), memory: call.memory, signal: call.abort.toAbortSignal() };
    return new PluginRun(bound, call, { api, model, modelSlug: route.model, maxTokens, ...work });
  }

  #wanted(entries: readonly unknown[], models: readonly string[]): readonly BoundPlugin[] {
    const isOnline = models.some((name) => this.#isOnline(name));
    if (entries.length === 0 && !isOnline) return [];
    const wanted = this.#bind(entries);
    if (isOnline && !entries.some((entry) => fieldsOf(entry)['id'] === WEB)) this.#bindWeb(wanted);
    return this.plugins.flatMap(({ id }) => wanted.get(id) ?? []);
  }

  /** A model of the catalogue may have the suffix in its own slug. */
  #isOnline(name: string): boolean {
    if (!name.includes(ONLINE)) return false;
    const resolved = this.resolve(name);
    return resolved.model !== null && resolved.isOnline;
  }

  #bindWeb(bound: Map<string, BoundPlugin>): void {
    const web = this.plugins.find(({ id }) => id === WEB);
    if (web !== undefined) bound.set(WEB, web.bind({}, 'model'));
  }

  #bind(entries: readonly unknown[]): Map<string, BoundPlugin> {
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
    return bound;
  }
}
