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
  let nowMs: number;
  let keys: BatchKeys;

  beforeEach(() => {
    nowMs = 0;
    const find = async (): Promise<Principal | null> => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    keys = new BatchKeys({ find }, () => nowMs);
  });

  const away = new AppError('provider_unavailable', 'nobody answers');

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
    expect(() => new BatchKeys({ find: () => known }).principalOf(elsewhere)).toThrow('can no longer be used');
  });

  it('tells at once what the directory knows by heart', async () => {
    const known = principal();
    let isDown = false;
    let isKnown = true;
    const find = (): Principal | Promise<Principal | null> => {
      if (isDown) throw away;
      return isKnown ? known : Promise.resolve(null);
    };
    const sut = new BatchKeys({ find }, () => nowMs);
    expect(sut.principalOf(OWNER)).toBe(known);
    isDown = true;
    expect(sut.principalOf(OWNER)).toBe(known);
    [isDown, isKnown] = [false, false];
    await expect(sut.principalOf(OWNER)).rejects.toMatchObject({ code: 'authentication' });
  });

  it('keeps to the last answer while nobody answers', async () => {
    const known = (answer = principal());
    await keys.principalOf(OWNER);
    answer = away;
    expect(await keys.principalOf(OWNER)).toBe(known);
  });

  it('says so when nobody ever answered', async () => {
    answer = away;
    await expect(keys.principalOf(OWNER)).rejects.toBe(away);
  });

  it('goes back to no answer that was taken back', async () => {
    answer = principal();
    await keys.principalOf(OWNER);
    answer = null;
    await Promise.resolve(keys.principalOf(OWNER)).catch(() => undefined);
    answer = away;
    await expect(keys.principalOf(OWNER)).rejects.toBe(away);
  });

  it('lets a key expire while nobody answers', async () => {
    answer = principal(new Date(1_000).toISOString());
    await keys.principalOf(OWNER);
    answer = away;
    nowMs = 999;
    expect(await keys.principalOf(OWNER)).toMatchObject({ keyHash: HASH });
    nowMs = 1_000;
    await expect(keys.principalOf(OWNER)).rejects.toMatchObject({ code: 'authentication' });
  });
});
