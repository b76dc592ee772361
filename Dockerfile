# The single executable, which has Bun inside, on a small Debian. docs/operations/deploy.md says how to run it.
FROM node:20-bookworm-slim AS build
WORKDIR /build
# Packages first: they change less often than the sources.
COPY package.json package-lock.json ./
RUN npm install --no-save --include=dev --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
# Compiled together with the sources; the executable has nothing of them.
COPY test test
COPY bench bench
RUN npm run --silent build:binary -- --out /build/holdfast

FROM debian:bookworm-slim
# The C++ library that the metadata engine needs comes with this base.
RUN groupadd --gid 10001 holdfast \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/holdfast --shell /usr/sbin/nologin holdfast \
 && install --directory --owner holdfast --group holdfast --mode 0700 /var/lib/holdfast /var/cache/holdfast
COPY --from=build /build/holdfast /usr/local/bin/holdfast
# As a number, so that a cluster can tell that it is not root.
USER 10001
# Keys are made at the first start, in the volume, or come from the environment: none is part of the image.
ENV HOLDFAST_DATA=/var/lib/holdfast \
    HOLDFAST_LISTEN=0.0.0.0:9000 \
    HOLDFAST_CONSOLE=0.0.0.0:9001 \
    CACHE_DIRECTORY=/var/cache/holdfast
VOLUME ["/var/lib/holdfast"]
EXPOSE 9000 9001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["holdfast", "health"]
ENTRYPOINT ["holdfast"]
CMD ["serve"]
