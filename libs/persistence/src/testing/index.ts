export { ageCharges } from './age-charges';
export { AppDatabases } from './app-databases';
export { atOnce } from './at-once';
export {
  announcementsOf,
  answerLinesBefore,
  batchesOf,
  beginBatch,
  startBatch,
  storeBatch,
  type BatchPayer,
  type StoredBatch,
} from './batch-fixture';
export { booksOfSpec } from './books';
export { openClockedBooks, type ClockedBooks } from './clocked-books';
export { chargedBatch, chargedCall, chargedVideo } from './charges-fixture';
export { DatabaseProxy, type CommitFault } from './database-proxy';
export { anOpening, aSettlement } from './generation-fixture';
export { storeKey, storeKeyIn } from './key-fixture';
export { aLineOutcome } from './line-outcome-fixture';
export { answersToForeign, roundTripsOf } from './round-trips';
export { storePropertiedTenant, type PropertiedTenant } from './tenant-fixture';
export {
  appUrlOf,
  createTemplates,
  createTestDatabase,
  openTestDatabase,
  TEMPLATE_VARIABLE,
  TEST_LOGINS,
  type OpenTestDatabase,
  type TestDatabase,
} from './test-database';
export { openTwoTenants, type TwoTenants } from './two-tenants';
export { aVideo, storeVideo } from './video-fixture';
