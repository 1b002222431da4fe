import { intakePurpose, type IntakeKey, type Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { keyIdOf, SealingKeyPair } from '@libs/platform';
import type { IntakeSeeds } from './intake-seeds';
import { isRingKey, type RingEntry } from './key-ring';
import { deriveKey } from './sealed-bytes';

const PURPOSE = 'sluice credentials: sealing of keys that come in';

/**
 * The key pairs to which raw keys are sealed on their way in. For a key in the keyring they are derived from it. So
 * every credentials process with the same keyring can open what was sealed for any of them, and nothing has to be
 * stored; the two uses of a key share no bytes. For a key in a key management service the processes share a seed that
 * the service has wrapped.
 */
export class IntakeKeys {
  readonly #currentKeyId: string;
  readonly #entries: ReadonlyMap<string, RingEntry>;
  readonly #pairs = new Map<string, Promise<SealingKeyPair>>();

  /** The first key is the current one. */
  constructor(
    ring: readonly [RingEntry, ...RingEntry[]],
    private readonly seeds: Pick<IntakeSeeds, 'seedOf'>,
  ) {
    this.#currentKeyId = ring[0].id;
    this.#entries = new Map(ring.map((entry) => [entry.id, entry]));
  }

  async current(): Promise<IntakeKey> {
    const pair = await this.pairOf(this.#entries.get(this.#currentKeyId)!);
    return { keyId: this.#currentKeyId, publicKey: pair.publicKey };
  }

  /** @throws AppError `conflict` for data that was sealed to a key outside the keyring */
  async open(sealedKey: string, organizationId: string): Promise<Secret> {
    const entry = this.#entries.get(keyIdOf(sealedKey) ?? '');
    if (entry === undefined) throw new AppError('conflict', 'The key was sealed to a key that is gone; try again');
    return (await this.pairOf(entry)).open(sealedKey, intakePurpose(organizationId));
  }

  /** Returns the key pair, made on first use; after a failure the next call tries again. */
  private pairOf(entry: RingEntry): Promise<SealingKeyPair> {
    const { id } = entry;
    const known = this.#pairs.get(id);
    if (known !== undefined) return known;
    const pair = this.seedFor(entry).then((seed) => SealingKeyPair.fromSeed(deriveKey(seed, PURPOSE)));
    this.#pairs.set(id, pair);
    pair.catch(() => this.#pairs.delete(id));
    return pair;
  }

  private async seedFor(entry: RingEntry): Promise<Buffer> {
    return isRingKey(entry) ? entry.key : this.seeds.seedOf(entry.id);
  }
}
