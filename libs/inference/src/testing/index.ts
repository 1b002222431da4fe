export * from './catalogue-fixture';
export * from './engine-fixture';
export * from './fake-upstream';
