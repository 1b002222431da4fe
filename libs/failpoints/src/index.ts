export { FAILPOINTS, type Failpoint } from './failpoint-names';
export { armFailpoint, failpoint } from './failpoint';
