export { atOnce } from './at-once';
export { announcementsOf, batchesOf, storeBatch, type StoredBatch } from './batch-fixture';
export { anOpening, aSettlement } from './generation-fixture';
export { aLineOutcome } from './line-outcome-fixture';
export { createTestDatabase, openTestDatabase, type OpenTestDatabase, type TestDatabase } from './test-database';
export { aVideo, storeVideo } from './video-fixture';
export { roundTripsOf } from './round-trips';
export { storeKey } from './key-fixture';
export { storePropertiedTenant, type PropertiedTenant } from './tenant-fixture';
