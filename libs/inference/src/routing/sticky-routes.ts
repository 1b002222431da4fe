import { hash } from 'node:crypto';
import { isObject } from '@libs/json';
import type { Endpoint } from '../catalogue/catalogue-entries';
import { LeastRecent } from './least-recent';
import { traitsOf } from '../catalogue/endpoint-traits';

/** The part of the sticky routes that plans use. */
export interface StickyView {
  /** Returns the key of the endpoint (`traitsOf(endpoint).key`) that served this conversation last, or null. */
  find(stickyKey: string, modelSlug: string): string | null;
}

const IDLE_MS = 600_000;
const MOST_CONVERSATIONS = 20_000;

interface Stay {
  readonly endpointKey: string;
  readonly untilMs: number;
}

/**
 * Remembers, in this process, which endpoint served a conversation, for ten idle minutes, so that its next request can
 * use the provider's prompt cache. Limited in size; the conversation without requests for the longest time is dropped
 * first.
 */
export class StickyRoutes implements StickyView {
  readonly #stays = new LeastRecent<Stay>(MOST_CONVERSATIONS);

  constructor(readonly clock: () => number) {}

  /** Notes the endpoint that served a conversation. Call it after a call has succeeded. */
  served(stickyKey: string, modelSlug: string, endpoint: Endpoint): void {
    this.#stays.set(`${stickyKey} ${modelSlug}`, {
      endpointKey: traitsOf(endpoint).key,
      untilMs: this.clock() + IDLE_MS,
    });
  }

  find(stickyKey: string, modelSlug: string): string | null {
    const stay = this.#stays.peek(`${stickyKey} ${modelSlug}`);
    return stay !== undefined && stay.untilMs > this.clock() ? stay.endpointKey : null;
  }
}

export interface Conversation {
  /** Part of the key, so that two organizations never share one. */
  readonly organizationId: string;
  readonly sessionId?: string | null;
  readonly promptCacheKey?: string | null;
  /** The parsed body of the request, in any dialect. */
  readonly body: unknown;
}

/**
 * Returns what identifies the conversation of a request: the session id, else the prompt-cache key, else the first
 * system message together with the first other message. Null if a body has none of them. The key is a hash, so the
 * conversation cannot be read from it.
 */
export function stickyKeyOf({ organizationId, sessionId, promptCacheKey, body }: Conversation): string | null {
  const material = sessionId
    ? ['session', sessionId]
    : promptCacheKey
      ? ['cache', promptCacheKey]
      : beginningOf(isObject(body) ? body : {});
  return material === null ? null : hash('sha256', JSON.stringify([organizationId, ...material]), 'base64url');
}

const SYSTEM_ROLES: readonly unknown[] = ['system', 'developer'];
/** Prompt caches match from the start, so text after this many characters does not distinguish conversations. */
const LONGEST_READ = 65_536;

function beginningOf({ messages, input, system, instructions }: Record<string, unknown>): string[] | null {
  const turns = Array.isArray(messages) ? messages : Array.isArray(input) ? input : [input];
  const first = turns.find((turn) => !isSystem(turn));
  if (first === undefined || first === null) return null;
  const start = new TextStart(LONGEST_READ);
  start.read(system ?? instructions ?? turns.find(isSystem));
  start.read('\u0000');
  start.read(first);
  return ['start', start.text()];
}

function isSystem(turn: unknown): boolean {
  return isObject(turn) && SYSTEM_ROLES.includes(turn.role);
}

/** The first characters of all text in a value, in order. */
class TextStart {
  readonly #parts: string[] = [];

  constructor(private left: number) {}

  read(value: unknown): void {
    if (this.left <= 0) return;
    if (typeof value === 'string') {
      const part = value.slice(0, this.left);
      this.left -= part.length;
      this.#parts.push(part);
    } else if (Array.isArray(value)) for (const each of value) this.read(each);
    else if (isObject(value)) for (const each of Object.values(value)) this.read(each);
  }

  text(): string {
    return this.#parts.join('\u0001');
  }
}
