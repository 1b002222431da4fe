export * from './any-answer';
export * from './any-request';
export * from './catalogue-fixture';
export * from './engine-fixture';
export * from './fake-upstream';
export * from './fold-answer';
export * from './responses-grammar';
export * from './recordings';
