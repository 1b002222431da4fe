import { FindOwnCredentials, type OwnCredentialRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '../messaging/message-bus';

export interface CredentialDirectoryOptions {
  /** How long an answer may be used, counted from the moment the question was asked. */
  readonly freshForMs: number;
  /** From this age on the next one who uses an answer has it asked for anew, and waits for nothing. */
  readonly renewAfterMs: number;
  /** How long it may be used while the credentials app does not answer. */
  readonly staleForMs: number;
  readonly maxEntries: number;
  /** Questions on their way at once; more are refused as overload. */
  readonly maxLookups: number;
  readonly monotonicNowMs: () => number;
}

interface Entry {
  readonly credentials: readonly OwnCredentialRecord[];
  readonly askedAtMs: number;
  /** The last question had no answer. */
  isStale: boolean;
}

interface Lookup {
  readonly askedAtMs: number;
  readonly answer: Promise<readonly OwnCredentialRecord[]>;
}

const DEFAULTS: CredentialDirectoryOptions = {
  // Short of the promised second by what asking anew may take.
  freshForMs: 750,
  renewAfterMs: 400,
  staleForMs: 300_000,
  maxEntries: 10_000,
  maxLookups: 1_000,
  monotonicNowMs: () => performance.now(),
};

/**
 * Which credentials workspaces have, as the credentials app last said; no keys.
 *
 * A change is felt within a second in every process: an answer ages from the moment its question was asked, and
 * nobody joins a question that is older than that. An answer that is in use is asked for anew before it is too old,
 * so a busy workspace keeps nobody waiting. While the credentials app is away, what is known of a
 * workspace stays in use for five minutes without anybody waiting. That lets nobody use a key for longer than
 * it is good, because the key itself has to be asked for; of a workspace of which nothing is known, requests
 * are refused, because it may have forbidden to be served by anything but its own keys.
 */
export class CredentialDirectory {
  readonly #bus: MessageBus;
  readonly #options: CredentialDirectoryOptions;
  /** By workspace, in the order of their questions, the oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #lookups = new Map<string, Lookup>();
  #runningLookups = 0;

  constructor(bus: MessageBus, options: Partial<CredentialDirectoryOptions> = {}) {
    this.#bus = bus;
    this.#options = { ...DEFAULTS, ...options };
  }

  /** Those in force at once when they are known, a promise when they must be asked for. */
  find(
    organizationId: string,
    workspaceId: string,
  ): readonly OwnCredentialRecord[] | Promise<readonly OwnCredentialRecord[]> {
    const nowMs = this.#options.monotonicNowMs();
    const known = this.#entries.get(workspaceId);
    if (known && this.#isServedAtOnce(known, nowMs)) {
      if (nowMs - known.askedAtMs >= this.#options.renewAfterMs) this.#renew(organizationId, workspaceId, nowMs);
      return known.credentials;
    }
    const lookup = this.#lookups.get(workspaceId);
    const isUnderWay = lookup !== undefined && nowMs - lookup.askedAtMs < this.#options.freshForMs;
    return isUnderWay ? lookup.answer : this.#ask(organizationId, workspaceId, nowMs);
  }

  #isServedAtOnce(known: Entry, nowMs: number): boolean {
    if (nowMs - known.askedAtMs < this.#options.freshForMs) return true;
    return known.isStale && this.#isBearable(known, nowMs);
  }

  /** Behind the back of the caller: the answer is for the next one, and a failure is in the entry. */
  #renew(organizationId: string, workspaceId: string, nowMs: number): void {
    if (this.#lookups.has(workspaceId)) return;
    this.#ask(organizationId, workspaceId, nowMs).catch(() => undefined);
  }

  #isBearable({ askedAtMs }: Entry, nowMs: number): boolean {
    return nowMs - askedAtMs < this.#options.staleForMs;
  }

  #ask(organizationId: string, workspaceId: string, askedAtMs: number): Promise<readonly OwnCredentialRecord[]> {
    const lookup = { askedAtMs, answer: this.#lookUp(organizationId, workspaceId, askedAtMs) };
    this.#lookups.set(workspaceId, lookup);
    const forget = (): void => {
      if (this.#lookups.get(workspaceId) === lookup) this.#lookups.delete(workspaceId);
    };
    lookup.answer.then(forget, forget);
    return lookup.answer;
  }

  async #lookUp(
    organizationId: string,
    workspaceId: string,
    askedAtMs: number,
  ): Promise<readonly OwnCredentialRecord[]> {
    if (this.#runningLookups >= this.#options.maxLookups) throw unavailable('too many questions at once');
    this.#runningLookups += 1;
    try {
      const credentials = await this.#readAll(organizationId, workspaceId);
      this.#remember(workspaceId, { credentials, askedAtMs, isStale: false });
      return credentials;
    } catch (thrown) {
      const known = this.#entries.get(workspaceId);
      if (!known || !this.#isBearable(known, this.#options.monotonicNowMs())) {
        throw unavailable('the credentials app gives no answer', thrown);
      }
      known.isStale = true;
      return known.credentials;
    } finally {
      this.#runningLookups -= 1;
    }
  }

  /** A workspace whose credentials do not fit into one message is told of in several. */
  async #readAll(organizationId: string, workspaceId: string): Promise<readonly OwnCredentialRecord[]> {
    const all: OwnCredentialRecord[] = [];
    for (;;) {
      const request = { organizationId, workspaceId, offset: all.length };
      const { credentials, totalCount } = await this.#bus.call(FindOwnCredentials, request);
      all.push(...credentials);
      if (credentials.length === 0 || all.length >= totalCount) return all;
    }
  }

  #remember(workspaceId: string, entry: Entry): void {
    const known = this.#entries.get(workspaceId);
    if (known && known.askedAtMs > entry.askedAtMs) return;
    this.#entries.delete(workspaceId);
    this.#entries.set(workspaceId, entry);
    if (this.#entries.size > this.#options.maxEntries) {
      const oldest = this.#entries.keys().next();
      if (!oldest.done) this.#entries.delete(oldest.value);
    }
  }
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError('provider_overloaded', 'The provider keys of the workspace cannot be looked up', {
    retryAfterSeconds: 5,
    internal: `own credentials: ${reason}`,
    cause,
  });
}
