import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { BatchKeys } from './batch-keys';

const HASH = 'ab'.repeat(32);
const OWNER = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: HASH };

function principal(expiresAt: string | null = null): Principal {
  const { organizationId, workspaceId } = OWNER;
  return { keyHash: HASH, organizationId, workspaceId, expiresAt, name: 'a key' } as Principal;
}

describe(BatchKeys.name, () => {
  let answer: Principal | null | Error;
  let keys: BatchKeys;

  beforeEach(() => {
    const findRecord = async (): Promise<Principal | null> => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    keys = new BatchKeys({ findRecord });
  });

  const away = new AppError('unavailable', 'The API key cannot be checked now');

  it('knows a key as it stands now', async () => {
    answer = principal();
    expect(await keys.principalOf(OWNER)).toBe(answer);
    answer = null;
    await expect(keys.principalOf(OWNER)).rejects.toMatchObject({ code: 'authentication' });
  });

  it.each(['organizationId', 'workspaceId'] as const)('uses no key for a batch of another %s', async (member) => {
    const elsewhere = { ...OWNER, [member]: 'elsewhere' };
    answer = principal();
    await expect(keys.principalOf(elsewhere)).rejects.toMatchObject({ code: 'authentication' });
    const known = principal();
    expect(() => new BatchKeys({ findRecord: () => known }).principalOf(elsewhere)).toThrow('can no longer be used');
  });

  it('answers at once what the directory knows', () => {
    const known = principal();
    expect(new BatchKeys({ findRecord: () => known }).principalOf(OWNER)).toBe(known);
  });

  it('ends no line because the auth app cannot be asked', async () => {
    answer = away;
    await expect(keys.principalOf(OWNER)).rejects.toBe(away);
  });
});
