import { inspect } from 'node:util';
import { OpenCredential, openingPurpose, Secret, type OpenCredentialRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { ManualFeed } from '../feeds/testing/manual-feed';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { seal } from '../sealing/sealing';
import { CredentialOpener } from './credential-opener';

const KEY = 'sk-canary-0123456789';
const owner = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: 'hash' };

/** Answers are decrypted, which takes some turns of the event loop. */
const untilAnswered = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

describe(CredentialOpener.name, () => {
  let nowMs: number;
  let bus: FakeMessageBus;
  let feed: ManualFeed;
  let opener: CredentialOpener;
  const questions = (): OpenCredentialRequest[] => bus.calls.map(({ payload }) => payload as OpenCredentialRequest);

  beforeEach(() => {
    nowMs = 1_000;
    bus = new FakeMessageBus().answers(OpenCredential, async ({ id, recipient }) => ({
      sealedKey: await seal(new Secret(`${KEY} of ${id}`), { publicKey: recipient }, openingPurpose(id)),
    }));
    feed = new ManualFeed();
    feed.confirm(nowMs);
    opener = new CredentialOpener(bus, { feed, graceMs: 60_000, monotonicNowMs: () => nowMs });
  });

  it('gives the key, asked for in the name of its owner', async () => {
    expect((await opener.open('c1', owner))?.reveal()).toBe(`${KEY} of c1`);
    expect(questions()).toMatchObject([{ id: 'c1', ...owner }]);
  });

  /** Uses the key again and again, while the feed confirms it. */
  async function useFor(forMs: number): Promise<void> {
    for (const endMs = nowMs + forMs; nowMs < endMs;) {
      nowMs += 500;
      feed.confirm(nowMs);
      await opener.open('c1', owner);
    }
  }

  it('asks once for a burst of calls', async () => {
    await Promise.all([opener.open('c1', owner), opener.open('c1', owner)]);
    expect(bus.calls).toHaveLength(1);
  });

  it('asks no more for a key in use, until a credential of its workspace changes', async () => {
    await opener.open('c1', owner);
    await useFor(20_000);
    feed.change('another workspace');
    await opener.open('c1', owner);
    expect(bus.calls).toHaveLength(1);
    bus.failure = new AppError('not_found', 'No such credential');
    feed.change(owner.workspaceId);
    expect(await opener.open('c1', owner)).toBeNull();
  });

  it('keeps no key that was opened before a change', async () => {
    const asked = Promise.withResolvers<void>();
    bus.answers(OpenCredential, async ({ id, recipient }) => {
      await asked.promise;
      return { sealedKey: await seal(new Secret(KEY), { publicKey: recipient }, openingPurpose(id)) };
    });
    const before = opener.open('c1', owner);
    feed.change(owner.workspaceId);
    asked.resolve();
    await before;
    await opener.open('c1', owner);
    expect(bus.calls).toHaveLength(2);
  });

  it('asks for a key in use once a minute, beside the work of its callers', async () => {
    await opener.open('c1', owner);
    await useFor(60_000);
    await untilAnswered();
    expect(bus.calls).toHaveLength(2);
    await useFor(59_000);
    expect(bus.calls).toHaveLength(2);
  });

  it('gives no longer a key that turns out to be gone or that can no longer be opened', async () => {
    await opener.open('c1', owner);
    bus.failure = new AppError('server', 'Internal error');
    await useFor(60_000);
    await untilAnswered();
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'server' });
    bus.failure = new AppError('not_found', 'No such credential');
    expect(await opener.open('c1', owner)).toBeNull();
  });

  it('waits for the feed when it was not confirmed in time, and asks nothing else', async () => {
    await opener.open('c1', owner);
    nowMs += 750;
    const late = opener.open('c1', owner);
    feed.confirm(nowMs);
    expect((await late)?.reveal()).toBe(`${KEY} of c1`);
    expect(bus.calls).toHaveLength(1);
  });

  it('goes on with keys in use while the credentials app is away, and refuses all others at once', async () => {
    await opener.open('c1', owner);
    nowMs += 750;
    feed.lose();
    for (let second = 0; second < 59; second += 1) {
      expect(await opener.open('c1', owner)).not.toBeNull();
      nowMs += 1_000;
    }
    await expect(opener.open('c2', owner)).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    expect(bus.calls).toHaveLength(1);
    nowMs += 1_000;
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('uses no key while the credentials app is away that is to have no grace', async () => {
    const strict = new CredentialOpener(bus, { feed, monotonicNowMs: () => nowMs });
    await strict.open('c1', owner);
    nowMs += 750;
    feed.lose();
    await expect(strict.open('c1', owner)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('knows of a key whether it had been refused when it was asked for', async () => {
    let wasRefused = true;
    bus.answers(OpenCredential, async ({ id, recipient }) => ({
      sealedKey: await seal(new Secret(KEY), { publicKey: recipient }, openingPurpose(id)),
      ...(wasRefused && { wasRefused }),
    }));
    const refused = (await opener.open('c1', owner))!;
    wasRefused = false;
    feed.change(owner.workspaceId);
    const taken = (await opener.open('c1', owner))!;
    expect([refused, taken].map((key) => opener.wasRefused(key))).toEqual([true, false]);
  });

  it('uses every key pair for one question', async () => {
    for (const id of ['c1', 'c2', 'c3']) await opener.open(id, owner);
    expect(new Set(questions().map(({ recipient }) => recipient)).size).toBe(3);
  });

  it('asks for every owner and API key anew', async () => {
    await opener.open('c1', owner);
    await opener.open('c1', { ...owner, apiKeyHash: 'other' });
    await opener.open('c1', { ...owner, workspaceId: 'other' });
    expect(bus.calls).toHaveLength(3);
  });

  it('takes no answer that was made for another question', async () => {
    const answers: string[] = [];
    bus.answers(OpenCredential, async ({ id, recipient }) => {
      answers.push(await seal(new Secret(KEY), { publicKey: recipient }, openingPurpose(id)));
      return { sealedKey: answers[0]! };
    });
    await opener.open('c1', owner);
    feed.change(owner.workspaceId);
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'server' });
    bus.answers(OpenCredential, async ({ recipient }) => ({
      sealedKey: await seal(new Secret(KEY), { publicKey: recipient }, openingPurpose('c1')),
    }));
    await expect(opener.open('c2', owner)).rejects.toMatchObject({ code: 'server' });
  });

  it('gives none for a credential that is gone, and asks again at once', async () => {
    bus.failure = new AppError('not_found', 'No such credential');
    expect(await opener.open('c1', owner)).toBeNull();
    bus.failure = undefined;
    expect((await opener.open('c1', owner))?.reveal()).toBe(`${KEY} of c1`);
  });

  it('passes on that a key cannot be opened, and asks again at once', async () => {
    bus.failure = new AppError('server', 'Internal error');
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'server' });
    bus.failure = new AppError('timeout', 'The request took too long');
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'unavailable' });
    bus.failure = undefined;
    expect(await opener.open('c1', owner)).not.toBeNull();
  });

  it('shows its keys to nobody who prints it', async () => {
    await opener.open('c1', owner);
    expect(inspect(opener, { depth: 9, showHidden: true }) + JSON.stringify(opener)).not.toContain('canary');
  });

  it('forgets a key within a second of its last use', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const pass = (ms: number): void => {
      nowMs += ms;
      jest.advanceTimersByTime(ms);
      feed.confirm(nowMs);
    };
    try {
      const timed = new CredentialOpener(bus, { feed, monotonicNowMs: () => nowMs });
      await timed.open('c1', owner);
      pass(500);
      await timed.open('c1', owner);
      pass(749);
      await timed.open('c1', owner);
      expect(bus.calls).toHaveLength(1);
      pass(500);
      pass(500);
      await timed.open('c1', owner);
      expect(bus.calls).toHaveLength(2);
    } finally {
      jest.useRealTimers();
    }
  });
});
