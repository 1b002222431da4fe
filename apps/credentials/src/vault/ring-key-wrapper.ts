import { AppError } from '@libs/errors';
import { ManagedKeyWrapper } from '../key-services/managed-key-wrapper';
import { openManagedKey, type KeyServicePlaces } from '../key-services/managed-keys';
import { isRingKey, type RingEntry } from './key-ring';
import { KeyWrapper, type WrappedKey } from '../key-services/key-wrapper';
import { LocalKeyWrapper } from './local-key-wrapper';

/** All keys of a keyring, in this process or in a service: the first one wraps, each unwraps what it wrapped. */
export class RingKeyWrapper extends KeyWrapper {
  override readonly currentKeyId: string;
  readonly #wrappers: ReadonlyMap<string, KeyWrapper>;

  constructor(ring: readonly [RingEntry, ...RingEntry[]], places: KeyServicePlaces = {}) {
    super();
    this.currentKeyId = ring[0].id;
    this.#wrappers = new Map(ring.map((entry) => [entry.id, wrapperOf(entry, places)]));
  }

  override async wrap(dataKey: Buffer, context: string): Promise<WrappedKey> {
    return this.#wrappers.get(this.currentKeyId)!.wrap(dataKey, context);
  }

  override async unwrap(key: WrappedKey, context: string): Promise<Buffer> {
    const wrapper = this.#wrappers.get(key.keyEncryptionKeyId);
    if (wrapper !== undefined) return wrapper.unwrap(key, context);
    const internal = 'a credential cannot be opened: its key-encryption key is not in the ring';
    throw new AppError('server', 'Internal error', { internal });
  }
}

function wrapperOf(entry: RingEntry, places: KeyServicePlaces): KeyWrapper {
  if (isRingKey(entry)) return new LocalKeyWrapper([entry]);
  return new ManagedKeyWrapper(entry.id, openManagedKey(entry, places));
}
