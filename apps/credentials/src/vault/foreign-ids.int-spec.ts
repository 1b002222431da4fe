import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { createDataSource, Database } from '@libs/persistence';
import {
  createTestDatabase,
  roundTripsOf,
  storePropertiedTenant,
  type PropertiedTenant,
  type TestDatabase,
} from '@libs/persistence/testing';
import { CredentialEntity } from './credential.entity';
import { CredentialsRepository } from './credentials.repository';
import { KeyVerdictsRepository } from './key-verdicts.repository';
import { SealedCredentialsRepository } from './sealed-credentials.repository';

let testDatabase: TestDatabase;
let dataSource: DataSource;
let database: Database;
let mine: PropertiedTenant;
let theirs: PropertiedTenant;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const entities = [CredentialEntity];
  dataSource = await createDataSource({ url: testDatabase.url, entities, poolSize: 1 }).initialize();
  database = new Database(dataSource);
  mine = await storePropertiedTenant(database, -1);
  theirs = await storePropertiedTenant(database, -2);
});

afterAll(async () => {
  await dataSource?.destroy();
  await testDatabase?.drop();
});

describe('a credential of another organization', () => {
  it('is answered like one that nobody has, after as many questions', async () => {
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
      const answers: string[] = [];
      const trips: number[] = [];
      const unknown = randomUUID();
      for (const asked of [unknown, unknown, foreign]) {
        const answered = async (): Promise<unknown> => answers.push(await ask(asked).then(JSON.stringify, String));
        trips.push(await roundTripsOf(database, answered));
      }
      expect([answers[2], trips[2]]).toEqual([answers[1], trips[1]]);
    }
  });

  it('is not there for a repository that forgets to ask whose it is', async () => {
    const entities = await database.asOrganization(mine).entities((manager) => manager.find(CredentialEntity));
    expect(entities.map(({ organizationId }) => organizationId)).toEqual([mine.organizationId]);
    expect(await dataSource.manager.count(CredentialEntity)).toBe(2);
  });
});
