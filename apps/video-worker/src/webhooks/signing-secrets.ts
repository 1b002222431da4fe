import { OpenWebhookSecrets, webhookSecretPurpose, type Secret } from '@libs/contracts';
import { SealingKeyPair, type MessageBus } from '@libs/platform';

interface Opening {
  readonly askedAtMs: number;
  readonly secrets: Promise<readonly Secret[]>;
}

/** Short enough that a new secret signs almost at once; long enough that a burst of events makes one request. */
const KEPT_FOR_MS = 750;

/**
 * Gets the secrets that sign a workspace's events from the credentials app. Each request has its own key pair, so only
 * this process can read the response, and only while it waits for it.
 */
export class SigningSecrets {
  readonly #openings = new Map<string, Opening>();

  constructor(
    private readonly bus: MessageBus,
    private readonly monotonicNowMs: () => number = () => performance.now(),
  ) {}

  /**
   * Returns the secrets, the current one first; none if the workspace never had one.
   * @throws AppError while they are unavailable
   */
  of(organizationId: string, workspaceId: string): Promise<readonly Secret[]> {
    const askedAtMs = this.monotonicNowMs();
    const known = this.#openings.get(workspaceId);
    if (known && askedAtMs - known.askedAtMs < KEPT_FOR_MS) return known.secrets;
    const opening = { askedAtMs, secrets: this.#ask(organizationId, workspaceId) };
    this.#openings.set(workspaceId, opening);
    const forget = (): void => {
      if (this.#openings.get(workspaceId) === opening) this.#openings.delete(workspaceId);
    };
    // A timer, so that a secret is also dropped if there is no further call.
    setTimeout(forget, KEPT_FOR_MS).unref();
    // An empty list is not cached: events after a first secret was created must be signed.
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
