import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { AppError } from '@libs/errors';
import { IssuerKeySets, type TokenIssuer } from './issuer-key-sets';
import type { VerificationKey } from './key-set';

const issuer = { id: 'issuer', organizationId: 'organization', issuerUrl: 'https://issuer.example', jwksUrl: null };

function key(keyId: string): VerificationKey {
  return { keyId, algorithm: 'ES256', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey };
}

/** An issuer whose every answer the test writes, and a clock that it sets. */
class World {
  nowMs = 0;
  fetches = 0;
  answer: () => Promise<readonly VerificationKey[]> = async () => [];
  readonly sets = new IssuerKeySets({
    fetchKeys: () => {
      this.fetches += 1;
      return this.answer();
    },
    nowMs: () => this.nowMs,
  });

  serve(...keys: VerificationKey[]): void {
    this.answer = async () => keys;
  }

  fail(): void {
    this.answer = async () => {
      throw new Error('away');
    };
  }

  find(keyId: string | null, of: TokenIssuer = issuer): Promise<KeyObject | null> {
    return this.sets.find(of, { keyId, algorithm: 'ES256' });
  }
}

const unavailable = { code: 'provider_unavailable' };
const [a, b] = [key('a'), key('b')];

describe(IssuerKeySets.name, () => {
  let world: World;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    world = new World();
  });

  it('asks once for many tokens, also at the same time', async () => {
    world.serve(a);
    const found = await Promise.all(Array.from({ length: 50 }, () => world.find('a')));
    expect(new Set(found)).toEqual(new Set([a.key]));
    world.nowMs = 599_999;
    await world.find('a');
    expect(world.fetches).toBe(1);
  });

  it('keeps issuers apart, and what one issuer was before it was changed', async () => {
    world.serve(a);
    await world.find('a');
    await world.sets.find({ ...issuer, id: 'other' }, { keyId: 'a', algorithm: 'ES256' });
    await world.sets.find({ ...issuer, jwksUrl: 'https://keys.example' }, { keyId: 'a', algorithm: 'ES256' });
    expect(world.fetches).toBe(3);
  });

  it('looks for unknown keys once in thirty seconds, however many are named', async () => {
    world.serve(a);
    await world.find('a');
    world.nowMs = 30_000;
    for (let round = 0; round < 10; round += 1) {
      const names = Array.from({ length: 100 }, (_, index) => `invented ${round} ${index}`);
      const found = await Promise.all(names.map((name) => world.find(name)));
      expect(found.every((one) => one === null)).toBe(true);
    }
    world.nowMs = 59_999;
    expect(await world.find('b')).toBeNull();
    expect(world.fetches).toBe(2);
    world.serve(a, b);
    world.nowMs = 60_000;
    expect(await world.find('b')).toBe(b.key);
  });

  it('forgets a key that was taken back within ten minutes', async () => {
    world.serve(a, b);
    await world.find('a');
    world.serve(b);
    world.nowMs = 600_000;
    expect(await world.find('a')).toBeNull();
    expect(await world.find('b')).toBe(b.key);
  });

  it('goes on with the keys it has for an hour when the issuer is away, and cannot say about others', async () => {
    world.serve(a);
    await world.find('a');
    world.fail();
    world.nowMs = 300_000;
    await expect(world.find('b')).rejects.toMatchObject(unavailable);
    expect(await world.find('a')).toBe(a.key);
    world.nowMs = 3_599_999;
    expect(await world.find('a')).toBe(a.key);
    world.nowMs = 3_600_000;
    await expect(world.find('a')).rejects.toMatchObject(unavailable);
  });

  it('asks an issuer that never answered again after five seconds', async () => {
    world.fail();
    await expect(world.find('a')).rejects.toMatchObject(unavailable);
    world.serve(a);
    world.nowMs = 4_999;
    await expect(world.find('a')).rejects.toMatchObject(unavailable);
    expect(world.fetches).toBe(1);
    world.nowMs = 5_000;
    expect(await world.find('a')).toBe(a.key);
  });

  it('goes on with the keys that it has where there is no place to fetch others', async () => {
    const healthy = { ...issuer, id: 'healthy' };
    world.serve(a);
    await world.find('a', healthy);
    world.nowMs = 600_000;
    let release: (keys: readonly VerificationKey[]) => void = () => undefined;
    const held = new Promise<readonly VerificationKey[]>((resolve) => (release = resolve));
    world.answer = () => held;
    const slow = Array.from({ length: 500 }, (_, nth) =>
      world.find('a', { ...issuer, id: `slow ${nth}` }).catch(() => null),
    );
    expect(await world.find('a', healthy)).toBe(a.key);
    await expect(world.find('b', healthy)).rejects.toMatchObject(unavailable);
    world.nowMs = 3_600_000;
    await expect(world.find('a', healthy)).rejects.toMatchObject(unavailable);
    release([a]);
    await Promise.all(slow);
  });

  it('waits for slow issuers of one organization only so often, and goes on for others', async () => {
    let release: (keys: readonly VerificationKey[]) => void = () => undefined;
    const held = new Promise<readonly VerificationKey[]>((resolve) => (release = resolve));
    world.answer = () => held;
    const issuerOf = (organizationId: string, nth: number): TokenIssuer => ({
      ...issuer,
      id: `${organizationId} ${nth}`,
      organizationId,
    });
    const outcomes: string[] = [];
    const slow = Array.from({ length: 1_000 }, (_, nth) =>
      world.find('a', issuerOf('attacker', nth % 500)).then(
        () => outcomes.push('found'),
        (error: AppError) => outcomes.push(error.code),
      ),
    );
    expect(world.fetches).toBe(32);
    world.serve(a);
    expect(await world.find('a', issuerOf('other', 1))).toBe(a.key);
    release([a]);
    await Promise.all(slow);
    expect(new Set(outcomes)).toEqual(new Set(['found', 'provider_unavailable']));
    expect(await world.find('a', issuerOf('attacker', 499))).toBe(a.key);
  });

  it('keeps the keys of an organization while another one has very many', async () => {
    const issuerOf = (organizationId: string, nth: number): TokenIssuer => ({
      ...issuer,
      id: `${organizationId} ${nth}`,
      organizationId,
    });
    world.serve(a, b);
    await world.find('a', issuerOf('victim', 1));
    world.serve(...Array.from({ length: 50 }, (_, nth) => ({ ...a, keyId: `k${nth}` })));
    for (let nth = 0; nth < 200; nth += 1) await world.find('k1', issuerOf('attacker', nth));
    expect(world.fetches).toBe(201);
    world.serve(a, b);
    await world.find('a', issuerOf('victim', 1));
    expect(world.fetches).toBe(201);
    await world.find('a', issuerOf('attacker', 0));
    expect(world.fetches).toBe(202);
    await world.find('k1', issuerOf('attacker', 199));
    expect(world.fetches).toBe(202);
  });
});
