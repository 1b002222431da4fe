// `node --require` this file to run TypeScript sources as a process, compiled as the tests compile them.
const { existsSync, readFileSync, statSync } = require('node:fs');
const Module = require('node:module');
const { join, resolve } = require('node:path');
const { transformSync } = require('@swc/core');

const root = resolve(__dirname, '../../../..');
const LIB = /^@libs\/([a-z-]+)$/;

Module._extensions['.ts'] = (module, filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
    filename,
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
      keepClassNames: true,
    },
  });
  module._compile(code, filename);
};

const resolveFilename = Module._resolveFilename;
Module._resolveFilename = function resolveTypeScript(request, parent, ...rest) {
  const lib = LIB.exec(request);
  if (lib) return join(root, 'libs', lib[1], 'src/index.ts');
  if (request.startsWith('.') && parent?.filename?.endsWith('.ts')) {
    const base = resolve(parent.filename, '..', request);
    for (const candidate of [`${base}.ts`, join(base, 'index.ts')]) {
      if (existsSync(candidate) && statSync(candidate).isFile()) return candidate;
    }
  }
  return resolveFilename.call(this, request, parent, ...rest);
};
