// Preloaded into an app: says at its end whether objects of one form that are made in two places share a map. Needs
// --allow-natives-syntax.
const { runInThisContext } = require('node:vm');

const haveSameMap = runInThisContext('(left, right) => %HaveSameMap(left, right)');
const FORMS = [
  '({ aKeyOfNoOther: 1 })',
  '({ aKeyOfNoOther: 1, another: 2 })',
  '({ [Symbol.iterator]: 1 })',
  'JSON.parse(\'{"aKeyOfNoOther": 1}\')',
];

process.on('exit', () => {
  const isShared = FORMS.map((text) => haveSameMap(runInThisContext(text), runInThisContext(text)));
  process.stdout.write(`\nforms shared: ${JSON.stringify(isShared)}\n`);
});
