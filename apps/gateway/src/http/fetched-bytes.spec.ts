import { AppError } from '@libs/errors';
import { outsideWork } from '../parsers/testing/outside-work';
import { EdgePools } from './edge-pools';
import { bytesForText, countFetched, type Reserve } from './fetched-bytes';
import { RequestClaim } from './request-claim';

const MEBIBYTE = 1024 * 1024;

function callWith(memoryBytes: number) {
  const pools = new EdgePools({ memoryBytes });
  const claim = new RequestClaim(pools);
  claim.work({ isPublic: false, holders: outsideWork().holders });
  return { claim, reserved: () => pools.memory.reserved };
}

const readsText =
  (bytes: number, text: string) =>
  async (reserve: Reserve): Promise<string> => {
    await reserve(bytes);
    return text;
  };

describe(countFetched.name, () => {
  it('holds several copies while it reads, and afterwards what the text needs', async () => {
    const { claim, reserved } = callWith(64 * MEBIBYTE);
    let whileRead = 0;
    const read = async (reserve: Reserve): Promise<string> => {
      await reserve(MEBIBYTE);
      await reserve(MEBIBYTE);
      whileRead = reserved();
      return 'é'.repeat(100);
    };
    await countFetched(claim, read, bytesForText);
    expect(whileRead).toBeGreaterThanOrEqual(6 * MEBIBYTE);
    expect(reserved()).toBe(200 + 3 * 202);
  });

  it('takes more for a text that is longer than what it was read from', async () => {
    const { claim, reserved } = callWith(64 * MEBIBYTE);
    await countFetched(claim, readsText(10, 'x'.repeat(MEBIBYTE)), bytesForText);
    expect(reserved()).toBe(4 * MEBIBYTE + 3 * 2);
  });

  it('counts a text by its length in JSON, where a control character has six bytes', async () => {
    const { claim, reserved } = callWith(64 * MEBIBYTE);
    await countFetched(claim, readsText(10, '\u0001'.repeat(1_000_000)), bytesForText);
    expect(reserved()).toBe(1_000_000 + 3 * 6_000_002);
  });

  it('gives everything back when reading fails, and leaves what other fetches of the call hold', async () => {
    const { claim, reserved } = callWith(64 * MEBIBYTE);
    await countFetched(claim, readsText(10, 'text'), bytesForText);
    const before = reserved();
    const fails = async (reserve: Reserve): Promise<string> => {
      await reserve(MEBIBYTE);
      throw new AppError('timeout', 'too slow');
    };
    await expect(countFetched(claim, fails, bytesForText)).rejects.toThrow('too slow');
    expect(reserved()).toBe(before);
  });

  it('gives everything back when there is no memory for a piece, or for the text', async () => {
    const { claim, reserved } = callWith(2 * MEBIBYTE);
    const overloaded = { code: 'provider_overloaded', retryAfterSeconds: 1 };
    await expect(countFetched(claim, readsText(MEBIBYTE, ''), bytesForText)).rejects.toMatchObject(overloaded);
    const long = readsText(10, 'x'.repeat(MEBIBYTE));
    await expect(countFetched(claim, long, bytesForText)).rejects.toMatchObject(overloaded);
    expect(reserved()).toBe(0);
  });

  it('counts fetches that have read nothing yet', async () => {
    const { claim } = callWith(MEBIBYTE);
    const silent = Promise.withResolvers<string>();
    const fetches = Array.from({ length: 3 }, () => countFetched(claim, () => silent.promise, bytesForText));
    const refused = await Promise.race(fetches.map((fetch) => fetch.catch((error: unknown) => error)));
    expect(refused).toMatchObject({ code: 'provider_overloaded' });
    silent.resolve('');
    expect((await Promise.allSettled(fetches)).filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });
});
