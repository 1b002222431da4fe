export { FAILPOINTS, type Failpoint } from './failpoint-names';
export { failpoint } from './failpoint';
