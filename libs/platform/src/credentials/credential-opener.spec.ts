import { inspect } from 'node:util';
import { OpenCredential, openingPurpose, Secret, type OpenCredentialRequest } from '@libs/contracts';
import { AppError } from '@libs/errors';
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
  let opener: CredentialOpener;
  const questions = (): OpenCredentialRequest[] => bus.calls.map(({ payload }) => payload as OpenCredentialRequest);

  beforeEach(() => {
    nowMs = 1_000;
    bus = new FakeMessageBus().answers(OpenCredential, async ({ id, recipient }) => ({
      sealedKey: await seal(new Secret(`${KEY} of ${id}`), { publicKey: recipient }, openingPurpose(id)),
    }));
    opener = new CredentialOpener(bus, () => nowMs);
  });

  it('gives the key, asked for in the name of its owner', async () => {
    expect((await opener.open('c1', owner))?.reveal()).toBe(`${KEY} of c1`);
    expect(questions()).toMatchObject([{ id: 'c1', ...owner }]);
  });

  it('asks once for a burst of calls, and again when the second is over', async () => {
    await Promise.all([opener.open('c1', owner), opener.open('c1', owner)]);
    nowMs += 399;
    await opener.open('c1', owner);
    expect(bus.calls).toHaveLength(1);
    nowMs += 351;
    await opener.open('c1', owner);
    expect(bus.calls).toHaveLength(2);
  });

  it('asks anew for a key in use before it is too old, and keeps no call waiting', async () => {
    const first = opener.open('c1', owner);
    await first;
    nowMs += 400;
    for (let time = 0; time < 3; time += 1) expect(opener.open('c1', owner)).toBe(first);
    expect(bus.calls).toHaveLength(2);
    await untilAnswered();
    nowMs += 399;
    const renewed = opener.open('c1', owner);
    expect(renewed).not.toBe(first);
    expect((await renewed)?.reveal()).toBe(`${KEY} of c1`);
    expect(bus.calls).toHaveLength(2);
  });

  it('gives no longer a key that is gone when it is asked for anew', async () => {
    await opener.open('c1', owner);
    bus.failure = new AppError('not_found', 'No such credential');
    nowMs += 400;
    expect(await opener.open('c1', owner)).not.toBeNull();
    await untilAnswered();
    expect(await opener.open('c1', owner)).toBeNull();
  });

  it('goes on with a key that could not be asked for anew until it is too old', async () => {
    await opener.open('c1', owner);
    bus.failure = new AppError('timeout', 'The request took too long');
    nowMs += 400;
    await opener.open('c1', owner);
    await untilAnswered();
    nowMs += 349;
    expect(await opener.open('c1', owner)).not.toBeNull();
    nowMs += 1;
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'timeout' });
  });

  it('knows of a key whether it had been refused when it was asked for', async () => {
    let wasRefused = true;
    bus.answers(OpenCredential, async ({ id, recipient }) => ({
      sealedKey: await seal(new Secret(KEY), { publicKey: recipient }, openingPurpose(id)),
      ...(wasRefused && { wasRefused }),
    }));
    const refused = (await opener.open('c1', owner))!;
    wasRefused = false;
    nowMs += 750;
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
    nowMs += 1_000;
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
    bus.failure = new AppError('timeout', 'The request took too long');
    await expect(opener.open('c1', owner)).rejects.toMatchObject({ code: 'timeout' });
    bus.failure = undefined;
    expect(await opener.open('c1', owner)).not.toBeNull();
  });

  it('lets one at a time wait for an app that gives no answers, and everybody ask when it is back', async () => {
    const late = new AppError('timeout', 'The request took too long');
    let waiting = Promise.withResolvers<never>();
    const answers = bus.answers(OpenCredential, () => waiting.promise);
    const first = [opener.open('c1', owner), opener.open('c2', owner)];
    waiting.reject(late);
    for (const { status } of await Promise.allSettled(first)) expect(status).toBe('rejected');
    waiting = Promise.withResolvers();
    const probe = opener.open('c3', owner);
    await expect(opener.open('c4', owner)).rejects.toMatchObject({ code: 'timeout' });
    expect(bus.calls).toHaveLength(3);
    waiting.reject(new AppError('not_found', 'No such credential'));
    expect(await probe).toBeNull();
    waiting = Promise.withResolvers();
    void opener.open('c5', owner);
    void opener.open('c6', owner);
    expect(answers.calls).toHaveLength(5);
  });

  it('shows its keys to nobody who prints it', async () => {
    await opener.open('c1', owner);
    expect(inspect(opener, { depth: 9, showHidden: true }) + JSON.stringify(opener)).not.toContain('canary');
  });

  it('has let go of a key a second later, although nobody asked again', async () => {
    jest.useFakeTimers();
    try {
      const timed = new CredentialOpener(bus, () => nowMs);
      await timed.open('c1', owner);
      jest.advanceTimersByTime(1_000);
      await timed.open('c1', owner);
      expect(bus.calls).toHaveLength(2);
    } finally {
      jest.useRealTimers();
    }
  });
});
