# The package on Node, on a small Debian. docs/operations/deploy.md says how to run it.
FROM node:22-bookworm-slim AS build
WORKDIR /build
# Packages first: they change less often than the sources.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY console console
# Compiled together with the sources; the package has nothing of them.
COPY test test
COPY bench bench
# Unpacked beside the lock file, so that the image runs the very versions that were tested.
RUN npm pack --silent \
 && mkdir /opt/holdfast \
 && tar --extract --file holdfast-*.tgz --directory /opt/holdfast --strip-components 1 \
 && chmod 0755 /opt/holdfast/dist/src/main.js \
 && cp package-lock.json /opt/holdfast/ \
 && npm ci --ignore-scripts --omit=dev --no-audit --no-fund --prefix /opt/holdfast

FROM node:22-bookworm-slim
RUN groupadd --gid 10001 holdfast \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/holdfast --shell /usr/sbin/nologin holdfast \
 && install --directory --owner holdfast --group holdfast --mode 0700 /var/lib/holdfast \
 && ln --symbolic /opt/holdfast/dist/src/main.js /usr/local/bin/holdfast
COPY --from=build /opt/holdfast /opt/holdfast
# As a number, so that a cluster can tell that it is not root.
USER 10001
# Keys are made at the first start, in the volume, or come from the environment: none is part of the image.
ENV HOLDFAST_DATA=/var/lib/holdfast \
    HOLDFAST_LISTEN=0.0.0.0:9000 \
    HOLDFAST_CONSOLE=0.0.0.0:9001
VOLUME ["/var/lib/holdfast"]
EXPOSE 9000 9001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["holdfast", "health"]
ENTRYPOINT ["holdfast"]
CMD ["serve"]
