import type { Principal } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { BatchKeys } from './batch-keys';

const HASH = 'ab'.repeat(32);

function principal(expiresAt: string | null = null): Principal {
  return { keyHash: HASH, expiresAt, name: 'a key' } as Principal;
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
    expect(await keys.principalOf(HASH)).toBe(answer);
    answer = null;
    await expect(keys.principalOf(HASH)).rejects.toMatchObject({ code: 'authentication' });
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
    expect(sut.principalOf(HASH)).toBe(known);
    isDown = true;
    expect(sut.principalOf(HASH)).toBe(known);
    [isDown, isKnown] = [false, false];
    await expect(sut.principalOf(HASH)).rejects.toMatchObject({ code: 'authentication' });
  });

  it('keeps to the last answer while nobody answers', async () => {
    const known = (answer = principal());
    await keys.principalOf(HASH);
    answer = away;
    expect(await keys.principalOf(HASH)).toBe(known);
  });

  it('says so when nobody ever answered', async () => {
    answer = away;
    await expect(keys.principalOf(HASH)).rejects.toBe(away);
  });

  it('goes back to no answer that was taken back', async () => {
    answer = principal();
    await keys.principalOf(HASH);
    answer = null;
    await Promise.resolve(keys.principalOf(HASH)).catch(() => undefined);
    answer = away;
    await expect(keys.principalOf(HASH)).rejects.toBe(away);
  });

  it('lets a key expire while nobody answers', async () => {
    answer = principal(new Date(1_000).toISOString());
    await keys.principalOf(HASH);
    answer = away;
    nowMs = 999;
    expect(await keys.principalOf(HASH)).toMatchObject({ keyHash: HASH });
    nowMs = 1_000;
    await expect(keys.principalOf(HASH)).rejects.toMatchObject({ code: 'authentication' });
  });
});
