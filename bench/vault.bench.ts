import { createCipheriv, randomBytes, randomUUID } from 'node:crypto';
import { Secret } from '@libs/contracts';
import { seal, SealingKeyPair } from '@libs/platform';
import { EnvelopeCipher, type CredentialIdentity, type SealedKey } from '../apps/credentials/src/vault/envelope-cipher';
import { parseKeyRing } from '../apps/credentials/src/vault/key-ring';
import { RingKeyWrapper } from '../apps/credentials/src/vault/ring-key-wrapper';
import { runBenchmark } from './support/comparison';
import { median, rounded } from './support/statistics';

/**
 * Measures what a provider key costs in the vault: sealing it, opening it, wrapping its data key anew under another
 * key-encryption key, and sealing it to the process that asked. CPU time of this process per key, and of one
 * AES-256-GCM encryption of the same bytes.
 */
const KEYS = Number(process.env.BENCH_KEYS ?? 10_000);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const KEY = new Secret(`sk-${'k'.repeat(48)}`);
const PURPOSE = 'bench';

const ringKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

function cipherOf(ring: string): EnvelopeCipher {
  return new EnvelopeCipher(new RingKeyWrapper(parseKeyRing(ring)));
}

/** Microseconds of CPU per key. */
async function perKey(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / KEYS;
}

function encryptOnce(bytes: Buffer, key: Buffer): void {
  const cipher = createCipheriv('aes-256-gcm', key, randomBytes(12), { authTagLength: 16 });
  cipher.update(bytes);
  cipher.final();
  cipher.getAuthTag();
}

interface Round {
  readonly seal: number;
  readonly open: number;
  readonly rotate: number;
  readonly deliver: number;
  readonly bareEncryption: number;
}

async function measureRound(): Promise<Round> {
  const [old, next] = [ringKey('old'), ringKey('next')];
  const [before, after] = [cipherOf(old), cipherOf(`${next},${old}`)];
  const identities: CredentialIdentity[] = Array.from({ length: KEYS }, () => ({
    id: randomUUID(),
    organizationId: randomUUID(),
    workspaceId: randomUUID(),
    provider: 'openai',
  }));
  const sealed: SealedKey[] = [];
  const sealing = await perKey(async () => {
    for (const identity of identities) sealed.push(await before.seal(KEY, identity));
  });
  const opening = await perKey(async () => {
    for (const [index, identity] of identities.entries()) await before.open(sealed[index]!, identity);
  });
  const rotating = await perKey(async () => {
    for (const [index, identity] of identities.entries()) await after.rewrap(sealed[index]!.dataKey, identity);
  });
  const { publicKey } = SealingKeyPair.generate();
  const delivering = await perKey(async () => {
    for (let index = 0; index < KEYS; index += 1) await seal(KEY, { publicKey }, PURPOSE);
  });
  const [bytes, key] = [Buffer.from(KEY.reveal()), randomBytes(32)];
  const bare = await perKey(async () => {
    for (let index = 0; index < KEYS; index += 1) encryptOnce(bytes, key);
  });
  return { seal: sealing, open: opening, rotate: rotating, deliver: delivering, bareEncryption: bare };
}

async function measure(): Promise<object> {
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) rounds.push(await measureRound());
  const middle = (pick: (round: Round) => number): number => rounded(median(rounds.slice(1).map(pick)), 1);
  return {
    benchmark: 'vault',
    keys: KEYS,
    cpu_micros_per_key: {
      seal: middle((round) => round.seal),
      open: middle((round) => round.open),
      rotate: middle((round) => round.rotate),
      deliver: middle((round) => round.deliver),
    },
    bare_encryption_cpu_micros: middle((round) => round.bareEncryption),
  };
}

runBenchmark(measure);
