import { randomBytes } from 'node:crypto';
import { AppError } from '@libs/errors';
import type { Database } from '@libs/persistence';
import type { KeyWrapper } from '../key-services/key-wrapper';

const SEED_BYTES = 32;
const CONTEXT = 'sluice credentials: seed of the keys that keys are sealed to on their way in';

/** Seeds that all credentials processes share, each wrapped with the managed key that it is for. */
export class IntakeSeeds {
  constructor(
    private readonly database: Database,
    private readonly keys: KeyWrapper,
  ) {}

  /** Returns the seed, which the first call makes. @throws AppError of the key management service */
  async seedOf(keyId: string): Promise<Buffer> {
    const wrapped = (await this.find(keyId)) ?? (await this.make(keyId));
    return this.keys.unwrap({ keyEncryptionKeyId: keyId, wrapped }, CONTEXT);
  }

  private async find(keyId: string): Promise<Buffer | null> {
    const row = await this.database.firstRow<{ wrapped: Buffer }>({
      sql: 'SELECT wrapped_seed AS wrapped FROM intake_seeds WHERE key_encryption_key_id = $1',
      values: [keyId],
    });
    return row?.wrapped ?? null;
  }

  /** Creates a seed. If several processes do so at once, one seed is kept and all use it. */
  private async make(keyId: string): Promise<Buffer> {
    const { keyEncryptionKeyId, wrapped } = await this.keys.wrap(randomBytes(SEED_BYTES), CONTEXT);
    if (keyEncryptionKeyId !== keyId) {
      throw new AppError('conflict', 'The key was sealed to a key that is gone; try again');
    }
    await this.database.execute({
      sql: `INSERT INTO intake_seeds (key_encryption_key_id, wrapped_seed) VALUES ($1, decode($2, 'hex'))
            ON CONFLICT (key_encryption_key_id) DO NOTHING`,
      values: [keyId, wrapped.toString('hex')],
    });
    return (await this.find(keyId))!;
  }
}
