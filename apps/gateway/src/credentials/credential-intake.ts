import { GetIntakeKey, intakePurpose, Secret, type IntakeKey } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { seal, type MessageBus } from '@libs/platform';

/** A change of intake keys is noticed by who uses an old one; this bounds how long that is tried first. */
const KEPT_FOR_MS = 60_000;

/**
 * The way of a raw key into the credentials app: sealed to it here, so that no message can be read on the way,
 * and bound to the organization that it is for.
 */
export class CredentialIntake {
  readonly #bus: MessageBus;
  readonly #nowMs: () => number;
  #known: { readonly key: IntakeKey; readonly askedAtMs: number } | null = null;

  constructor(bus: MessageBus, monotonicNowMs: () => number = () => performance.now()) {
    this.#bus = bus;
    this.#nowMs = monotonicNowMs;
  }

  /**
   * Sends a question with a sealed key. When the credentials app no longer has what it was sealed to, it is
   * sealed and sent once more.
   */
  async send<T>(key: string, organizationId: string, ask: (sealedKey: string) => Promise<T>): Promise<T> {
    const sealed = async (): Promise<string> =>
      seal(new Secret(key), await this.#intakeKey(), intakePurpose(organizationId));
    try {
      return await ask(await sealed());
    } catch (thrown) {
      if (AppError.from(thrown).code !== 'conflict') throw thrown;
      this.#known = null;
      return ask(await sealed());
    }
  }

  async #intakeKey(): Promise<IntakeKey> {
    const askedAtMs = this.#nowMs();
    if (this.#known !== null && askedAtMs - this.#known.askedAtMs < KEPT_FOR_MS) return this.#known.key;
    const key = await this.#bus.call(GetIntakeKey, {});
    this.#known = { key, askedAtMs };
    return key;
  }
}
