import { randomUUID } from 'node:crypto';
import { answersToForeign, openTwoTenants, type TwoTenants } from '@libs/persistence/testing';
import { CredentialEntity } from './credential.entity';
import { CredentialsRepository } from './credentials.repository';
import { KeyVerdictsRepository } from './key-verdicts.repository';
import { SealedCredentialsRepository } from './sealed-credentials.repository';

let tenants: TwoTenants;

beforeAll(async () => {
  tenants = await openTwoTenants([CredentialEntity]);
});

afterAll(() => tenants?.close());

describe('a credential of another organization', () => {
  it('is answered like one that nobody has, after as many questions', async () => {
    const { database, mine, theirs } = tenants;
    const { organizationId, workspaceId } = mine;
    const credentials = new CredentialsRepository(database);
    const sealed = new SealedCredentialsRepository(database);
    const verdicts = new KeyVerdictsRepository(database);
    const { id: foreign } = JSON.parse(theirs.rows.get('credentials')!) as { id: string };
    const questions: readonly ((id: string) => Promise<unknown>)[] = [
      (id) => credentials.findCredential({ organizationId, id }),
      (id) => credentials.getCredential({ organizationId, id }),
      (id) => credentials.updateCredential({ organizationId, id }, () => ({ name: 'taken' })),
      (id) => credentials.deleteCredential({ organizationId, id }),
      (id) => sealed.findUsable(organizationId, workspaceId, id),
      (id) => verdicts.noteRefusal({ organizationId, workspaceId, id, keyVersion: 1 }, 401),
    ];
    for (const ask of questions) {
      const answers = await answersToForeign(database, ask, { foreign, unknown: randomUUID() });
      expect(answers.foreign).toEqual(answers.unknown);
    }
  });

  it('is not there for a repository that forgets to ask whose it is', async () => {
    const { database, dataSource, mine } = tenants;
    const entities = await database.asOrganization(mine).entities((manager) => manager.find(CredentialEntity));
    expect(entities.map(({ organizationId }) => organizationId)).toEqual([mine.organizationId]);
    expect(await dataSource.manager.count(CredentialEntity)).toBe(2);
  });
});
