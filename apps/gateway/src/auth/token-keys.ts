import { createPublicKey, type KeyObject } from 'node:crypto';
import { GetTokenKeys, type TokenKeys } from '@libs/contracts';
import type { MessageBus } from '@libs/platform';

export interface TokenKeyDirectoryOptions {
  /** How long an answer is used before it is requested again. */
  readonly freshForMs: number;
  /** Shortest time between two requests for a key that was not in the last answer. */
  readonly lookAgainMs: number;
  /** Monotonic milliseconds. */
  readonly monotonicNowMs: () => number;
}

interface Answer {
  readonly keys: TokenKeys;
  readonly verifiers: ReadonlyMap<string, KeyObject>;
  readonly askedAtMs: number;
}

const DEFAULTS: TokenKeyDirectoryOptions = {
  freshForMs: 300_000,
  lookAgainMs: 5_000,
  monotonicNowMs: () => performance.now(),
};

/**
 * The keys with which the auth app signs access tokens and decrypts sealed requests, as it last reported them. They
 * change when the operator rotates them. A new key is requested when it is first seen; a removed one is dropped within
 * five minutes. While the auth app is unavailable, the last answer is used.
 */
export class TokenKeyDirectory {
  private readonly options: TokenKeyDirectoryOptions;
  private answer: Answer | null = null;
  private asking: Promise<Answer> | null = null;
  private lastAskedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly bus: MessageBus,
    options: Partial<TokenKeyDirectoryOptions> = {},
  ) {
    this.options = { ...DEFAULTS, ...options };
  }

  /** @throws AppError if the auth app is unavailable and has never answered */
  async current(): Promise<TokenKeys> {
    return (await this.answerYoungerThan(this.options.freshForMs)).keys;
  }

  /** Returns a new answer of the auth app, because it no longer accepts a sealing key. */
  async refreshed(): Promise<TokenKeys> {
    return (await this.ask()).keys;
  }

  /** Returns the public key with this name; null if there is none. */
  async verifier(keyId: string): Promise<KeyObject | null> {
    const { freshForMs, lookAgainMs, monotonicNowMs } = this.options;
    const known = (await this.answerYoungerThan(freshForMs)).verifiers.get(keyId);
    if (known !== undefined || monotonicNowMs() - this.lastAskedAtMs < lookAgainMs) return known ?? null;
    return (await this.ask()).verifiers.get(keyId) ?? null;
  }

  private async answerYoungerThan(ageMs: number): Promise<Answer> {
    const { answer } = this;
    if (answer === null) return this.ask();
    const nowMs = this.options.monotonicNowMs();
    const isDue = nowMs - answer.askedAtMs >= ageMs && nowMs - this.lastAskedAtMs >= this.options.lookAgainMs;
    return isDue ? this.ask().catch(() => answer) : answer;
  }

  /** Sends one request at a time and shares its answer with all callers. */
  private ask(): Promise<Answer> {
    this.asking ??= this.askOnce().finally(() => {
      this.asking = null;
    });
    return this.asking;
  }

  private async askOnce(): Promise<Answer> {
    const askedAtMs = this.options.monotonicNowMs();
    this.lastAskedAtMs = askedAtMs;
    const keys = await this.bus.call(GetTokenKeys, {});
    const verifiers = keys.signingKeys.map((jwk) => [jwk.kid, importKey({ ...jwk })] as const);
    return (this.answer = { keys, verifiers: new Map(verifiers), askedAtMs });
  }
}

function importKey({ kty, crv, x, y }: { kty: string; crv: string; x: string; y: string }): KeyObject {
  return createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' });
}
