import { VerifyKey, type Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { MessageBus } from '../messaging/message-bus';

export interface KeyDirectoryOptions {
  /** How long an answer may be used, counted from the moment the question was asked. */
  readonly freshForMs: number;
  /** From this age on the next one who uses an answer has it asked for anew, and waits for nothing. */
  readonly renewAfterMs: number;
  readonly maxEntries: number;
  /** Questions on their way at once; more are refused as overload. */
  readonly maxLookups: number;
  /** Monotonic milliseconds. */
  readonly monotonicNowMs: () => number;
  /** Milliseconds since the epoch, to judge expiry. */
  readonly wallNowMs: () => number;
}

interface Entry {
  readonly principal: Principal;
  readonly askedAtMs: number;
  readonly expiresAtMs: number;
}

interface Lookup {
  readonly askedAtMs: number;
  readonly answer: Promise<Principal | null>;
}

const DEFAULTS: KeyDirectoryOptions = {
  // Short of the promised second by what asking anew may take.
  freshForMs: 750,
  renewAfterMs: 400,
  maxEntries: 10_000,
  maxLookups: 1_000,
  monotonicNowMs: () => performance.now(),
  wallNowMs: () => Date.now(),
};

/**
 * Whom a key hash stands for, as the auth app last said.
 *
 * A revoked key stops working within a second in every process, without any message between them: an
 * answer ages from the moment its question was asked, not from its arrival, and nobody joins a question
 * that is older than that. An answer that is in use is asked for anew before it is too old, so a busy key keeps
 * nobody waiting. Only principals are kept. What is no key is asked for every time, so a new key works at once and
 * invented keys fill no memory.
 */
export class KeyDirectory {
  private readonly options: KeyDirectoryOptions;
  /** In the order of their questions, the oldest first; a key that is in use is asked for again all the time. */
  private readonly entries = new Map<string, Entry>();
  private readonly lookups = new Map<string, Lookup>();
  private runningLookups = 0;

  constructor(
    private readonly bus: MessageBus,
    options: Partial<KeyDirectoryOptions> = {},
  ) {
    this.options = { ...DEFAULTS, ...options };
  }

  /** The principal at once when it is known, a promise when it must be asked for; null for no usable key. */
  find(keyHash: string): Principal | Promise<Principal | null> {
    const nowMs = this.options.monotonicNowMs();
    const known = this.entries.get(keyHash);
    if (known && this.isUsable(known, nowMs)) {
      if (nowMs - known.askedAtMs >= this.options.renewAfterMs) this.renew(keyHash, nowMs);
      return known.principal;
    }
    const lookup = this.lookups.get(keyHash);
    if (lookup && nowMs - lookup.askedAtMs < this.options.freshForMs) return lookup.answer;
    return this.ask(keyHash, nowMs);
  }

  private isUsable(entry: Entry, nowMs: number): boolean {
    return nowMs - entry.askedAtMs < this.options.freshForMs && entry.expiresAtMs > this.options.wallNowMs();
  }

  /** Should it fail, who comes when the answer is too old asks again and is told why. */
  private renew(keyHash: string, nowMs: number): void {
    if (this.lookups.has(keyHash) || this.runningLookups >= this.options.maxLookups) return;
    this.ask(keyHash, nowMs).catch(() => undefined);
  }

  private ask(keyHash: string, askedAtMs: number): Promise<Principal | null> {
    if (this.runningLookups >= this.options.maxLookups) {
      throw new AppError('provider_overloaded', 'Too many requests wait for authentication', { retryAfterSeconds: 1 });
    }
    const lookup = { askedAtMs, answer: this.lookUp(keyHash, askedAtMs) };
    this.lookups.set(keyHash, lookup);
    const forget = (): void => {
      if (this.lookups.get(keyHash) === lookup) this.lookups.delete(keyHash);
    };
    lookup.answer.then(forget, forget);
    return lookup.answer;
  }

  private async lookUp(keyHash: string, askedAtMs: number): Promise<Principal | null> {
    this.runningLookups += 1;
    try {
      const { principal } = await this.bus.call(VerifyKey, { keyHash });
      this.remember(keyHash, principal, askedAtMs);
      return principal;
    } finally {
      this.runningLookups -= 1;
    }
  }

  private remember(keyHash: string, principal: Principal | null, askedAtMs: number): void {
    const known = this.entries.get(keyHash);
    if (known && known.askedAtMs > askedAtMs) return;
    this.entries.delete(keyHash);
    if (!principal) return;
    const expiresAtMs = principal.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(principal.expiresAt);
    this.entries.set(keyHash, { principal, askedAtMs, expiresAtMs });
    if (this.entries.size > this.options.maxEntries) {
      const oldest = this.entries.keys().next();
      if (!oldest.done) this.entries.delete(oldest.value);
    }
  }
}
