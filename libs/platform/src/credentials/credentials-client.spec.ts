import { Logger } from '@nestjs/common';
import { NoteKeyVerdict, OpenCredential, openingPurpose, Secret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { FakeMessageBus } from '../messaging/testing/fake-message-bus';
import { seal } from '../sealing/sealing';
import { CredentialsClient } from './credentials-client';

const owner = { organizationId: 'organization', workspaceId: 'workspace', apiKeyHash: 'hash' };
const workspace = { organizationId: 'organization', workspaceId: 'workspace' };

describe(CredentialsClient.name, () => {
  let nowMs: number;
  let bus: FakeMessageBus;
  let keyVersion: number | undefined;
  let client: CredentialsClient;
  const notes = (): unknown[] =>
    bus.calls.filter(({ contract }) => contract === NoteKeyVerdict).map(({ payload }) => payload);

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    nowMs = 1_000;
    keyVersion = 3;
    bus = new FakeMessageBus()
      .answers(OpenCredential, async ({ id, recipient }) => ({
        sealedKey: await seal(new Secret('sk-own'), { publicKey: recipient }, openingPurpose(id)),
        keyVersion,
      }))
      .answers(NoteKeyVerdict, () => ({ isNews: true }));
    client = new CredentialsClient(bus, { monotonicNowMs: () => nowMs });
  });

  it('notes the use of each key that it hands out, and of none that is gone', async () => {
    const uses: unknown[] = [];
    client = new CredentialsClient(bus, { monotonicNowMs: () => nowMs, onUse: (...use) => void uses.push(use) });
    await client.open('c1', owner);
    await client.open('c1', owner);
    expect(uses).toEqual([
      ['organization', 'c1'],
      ['organization', 'c1'],
    ]);
    bus.answers(OpenCredential, () => {
      throw new AppError('not_found', 'No such credential');
    });
    expect(await client.open('c2', owner)).toBeNull();
    expect(uses).toHaveLength(2);
  });

  it('tells of the key that was used, also when there is a newer one by then', async () => {
    const old = await client.open('c1', owner);
    nowMs += 1_000;
    keyVersion = 4;
    const newer = await client.open('c1', owner);
    client.noteVerdict('c1', owner, old!, 401);
    client.noteVerdict('c1', owner, newer!, 'accepted');
    expect(notes()).toEqual([
      { ...workspace, id: 'c1', keyVersion: 3, refusedWith: 401 },
      { ...workspace, id: 'c1', keyVersion: 4, refusedWith: null },
    ]);
  });

  it('tells once of what a crowd of calls hears, and again a second later', async () => {
    const key = await client.open('c1', owner);
    for (let call = 0; call < 100; call += 1) client.noteVerdict('c1', owner, key!, 403);
    expect(notes()).toHaveLength(1);
    nowMs += 1_000;
    client.noteVerdict('c1', owner, key!, 403);
    expect(notes()).toHaveLength(2);
  });

  it('tells again at once of what could not be told', async () => {
    const key = await client.open('c1', owner);
    bus.failure = new AppError('timeout', 'The request took too long');
    client.noteVerdict('c1', owner, key!, 401);
    await new Promise(setImmediate);
    bus.failure = undefined;
    client.noteVerdict('c1', owner, key!, 401);
    expect(notes()).toHaveLength(2);
  });

  it('says nothing of a key whose place in the row is not known', async () => {
    keyVersion = undefined;
    const key = await client.open('c1', owner);
    client.noteVerdict('c1', owner, key!, 401);
    expect(notes()).toEqual([]);
  });
});
