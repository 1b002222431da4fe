import { GetIntakeKey, intakePurpose, Secret, type IntakeKey } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { seal, type MessageBus } from '@libs/platform';

/**
 * How long intake keys are cached. A process notices that they changed when it uses an old one; this limits how long it
 * tries that first.
 */
const KEPT_FOR_MS = 60_000;

/**
 * Sends a provider key to the credentials app. It is sealed here, so that the message cannot be read on the way, and
 * bound to the organization for which it is intended.
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
   * Sends a request with a sealed key. If the credentials app no longer has the intake key with which it was sealed,
   * seals and sends it once more.
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
