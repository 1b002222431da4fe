import { OpenWebhookSecrets, webhookSecretPurpose, type Secret } from '@libs/contracts';
import { SealingKeyPair, type MessageBus } from '@libs/platform';

interface Opening {
  readonly askedAtMs: number;
  readonly secrets: Promise<readonly Secret[]>;
}

/** A burst of events of one workspace asks once, and a new secret signs within a moment. */
const KEPT_FOR_MS = 750;

/**
 * What a workspace's events are signed with, from the credentials app. Each question has a key pair of its own, so
 * its answer can be read by this process, while it waits for it, and never again by anybody.
 */
export class SigningSecrets {
  readonly #openings = new Map<string, Opening>();

  constructor(
    private readonly bus: MessageBus,
    private readonly monotonicNowMs: () => number = () => performance.now(),
  ) {}

  /** The current one first; none for a workspace that never had one made. @throws AppError while they cannot be had */
  of(organizationId: string, workspaceId: string): Promise<readonly Secret[]> {
    const askedAtMs = this.monotonicNowMs();
    const known = this.#openings.get(workspaceId);
    if (known && askedAtMs - known.askedAtMs < KEPT_FOR_MS) return known.secrets;
    const opening = { askedAtMs, secrets: this.#ask(organizationId, workspaceId) };
    this.#openings.set(workspaceId, opening);
    const forget = (): void => {
      if (this.#openings.get(workspaceId) === opening) this.#openings.delete(workspaceId);
    };
    // Also while nobody asks: a secret is not left lying around.
    setTimeout(forget, KEPT_FOR_MS).unref();
    // That there is none is not kept: what ends after a secret was made is signed.
    opening.secrets.then((secrets) => secrets.length === 0 && forget(), forget);
    return opening.secrets;
  }

  async #ask(organizationId: string, workspaceId: string): Promise<readonly Secret[]> {
    const pair = SealingKeyPair.generate();
    const question = { organizationId, workspaceId, recipient: pair.publicKey };
    const { sealedSecrets } = await this.bus.call(OpenWebhookSecrets, question);
    return Promise.all(sealedSecrets.map((sealed) => pair.open(sealed, webhookSecretPurpose(workspaceId))));
  }
}
