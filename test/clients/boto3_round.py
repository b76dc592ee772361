"""boto3 against Holdfast: a full round. Where, who and what come from the environment; an assertion ends it."""
import hashlib
import os
import socket
import urllib.error
import urllib.request
import ssl

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

URL = os.environ["HF_URL"]
BASE_HOST = os.environ["HF_BASE_HOST"]
BIG = os.environ["HF_BIG"]
BIG_BYTES = int(os.environ["HF_BIG_BYTES"])
BIG_SHA256 = os.environ["HF_BIG_SHA256"]
AUTHORITY = os.environ.get("HF_AUTHORITY") or None
BUCKET = os.environ["HF_BUCKET"]
FOLDER = os.environ["HF_FOLDER"]
PART = 8 * 1024 * 1024

_getaddrinfo = socket.getaddrinfo


def _resolve(host, *args, **kwargs):
    """Names of the base host lead to this machine, so that virtual hosts work without a name server."""
    local = host == BASE_HOST or str(host).endswith("." + BASE_HOST)
    return _getaddrinfo("127.0.0.1" if local else host, *args, **kwargs)


socket.getaddrinfo = _resolve


def client(style, signature="s3v4"):
    url = URL if style == "path" else URL.replace("127.0.0.1", BASE_HOST)
    config = Config(s3={"addressing_style": style}, retries={"total_max_attempts": 1}, signature_version=signature)
    return boto3.client("s3", endpoint_url=url, config=config, verify=AUTHORITY)


def code_of(call, **kwargs):
    try:
        call(**kwargs)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return "none"


def same(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def small_objects(s3):
    names = ["a.txt", "dir/b.txt", "dir/sub/c.txt", "dir with space/ä+&?.txt", "zero"]
    for name in names:
        body = b"" if name == "zero" else f"content of {name}".encode()
        s3.put_object(Bucket=BUCKET, Key=name, Body=body, ContentType="text/plain", Metadata={"colour": "blue"})
        got = s3.get_object(Bucket=BUCKET, Key=name)
        same(got["Body"].read(), body)
        same(got["ETag"], f'"{hashlib.md5(body).hexdigest()}"')
        same((got["ContentType"], got["Metadata"]), ("text/plain", {"colour": "blue"}))
    head = s3.head_object(Bucket=BUCKET, Key="a.txt", ChecksumMode="ENABLED")
    same(head["ContentLength"], 16)
    same(s3.get_object(Bucket=BUCKET, Key="a.txt", Range="bytes=3-6")["Body"].read(), b"tent")
    for algorithm in ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]:
        if algorithm in ("CRC32C", "CRC64NVME") and not has_crt():
            continue
        put = s3.put_object(Bucket=BUCKET, Key="summed", Body=b"summed", ChecksumAlgorithm=algorithm)
        got = s3.get_object(Bucket=BUCKET, Key="summed", ChecksumMode="ENABLED")
        same(got["Checksum" + algorithm], put["Checksum" + algorithm])
        same(got["Body"].read(), b"summed")
    s3.delete_object(Bucket=BUCKET, Key="summed")
    same(code_of(s3.get_object, Bucket=BUCKET, Key="missing"), "NoSuchKey")
    same(code_of(s3.put_object, Bucket=BUCKET, Key="a.txt", Body=b"x", IfNoneMatch="*"), "PreconditionFailed")
    return sorted(names, key=lambda name: name.encode())


def has_crt():
    try:
        import awscrt  # noqa: F401
    except ImportError:
        return False
    return True


def listing(s3, names):
    for operation in ["list_objects", "list_objects_v2"]:
        pages = s3.get_paginator(operation).paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 2})
        same([entry["Key"] for page in pages for entry in page.get("Contents", [])], names)
        page = getattr(s3, operation)(Bucket=BUCKET, Delimiter="/")
        same([entry["Prefix"] for entry in page["CommonPrefixes"]], ["dir with space/", "dir/"])
        page = getattr(s3, operation)(Bucket=BUCKET, Prefix="dir/", Delimiter="/")
        same([entry["Key"] for entry in page["Contents"]], ["dir/b.txt"])
        same([entry["Prefix"] for entry in page["CommonPrefixes"]], ["dir/sub/"])


def large_object(s3):
    transfer = TransferConfig(multipart_threshold=PART, multipart_chunksize=PART, max_concurrency=4)
    s3.upload_file(BIG, BUCKET, "big.bin", Config=transfer)
    head = s3.head_object(Bucket=BUCKET, Key="big.bin")
    same(head["ContentLength"], BIG_BYTES)
    assert head["ETag"].endswith(f'-{-(-BIG_BYTES // PART)}"'), head["ETag"]
    path = os.path.join(FOLDER, "boto3-big")
    s3.download_file(BUCKET, "big.bin", path, Config=transfer)
    with open(path, "rb") as file:
        same(hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest")
             else hashlib.sha256(file.read()).hexdigest(), BIG_SHA256)
    os.remove(path)
    with open(BIG, "rb") as file:
        s3.put_object(Bucket=BUCKET, Key="big-single.bin", Body=file)
    hash = hashlib.sha256()
    for chunk in s3.get_object(Bucket=BUCKET, Key="big-single.bin")["Body"].iter_chunks(1 << 20):
        hash.update(chunk)
    same(hash.hexdigest(), BIG_SHA256)


def multipart(s3):
    upload = {"Bucket": BUCKET, "Key": "parts.bin"}
    begun = s3.create_multipart_upload(**upload, Metadata={"made": "in parts"}, Tagging="made=parts")
    upload["UploadId"] = begun["UploadId"]
    bodies = [b"1" * PART, b"2" * PART, b"3" * 10]
    parts = []
    for number, body in enumerate(bodies, 1):
        sent = s3.upload_part(**upload, PartNumber=number, Body=body)
        parts.append({"PartNumber": number, "ETag": sent["ETag"]})
    ranged = {"CopySource": {"Bucket": BUCKET, "Key": "big.bin"}, "CopySourceRange": f"bytes=0-{PART - 1}"}
    copied = s3.upload_part_copy(**upload, PartNumber=2, **ranged)
    parts[1]["ETag"] = copied["CopyPartResult"]["ETag"]
    same([part["Size"] for part in s3.list_parts(**upload)["Parts"]], [PART, PART, 10])
    same([one["UploadId"] for one in s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]], [upload["UploadId"]])
    wrong = [dict(parts[0], ETag='"00000000000000000000000000000000"')]
    same(code_of(s3.complete_multipart_upload, **upload, MultipartUpload={"Parts": wrong}), "InvalidPart")
    done = s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
    assert done["ETag"].endswith('-3"'), done
    got = s3.get_object(Bucket=BUCKET, Key="parts.bin")
    with open(BIG, "rb") as file:
        same(hashlib.sha256(got["Body"].read()).digest(),
             hashlib.sha256(bodies[0] + file.read(PART) + bodies[2]).digest())
    same(got["Metadata"], {"made": "in parts"})
    same(s3.get_object(Bucket=BUCKET, Key="parts.bin", PartNumber=3)["Body"].read(), bodies[2])
    attributes = s3.get_object_attributes(
        Bucket=BUCKET, Key="parts.bin", ObjectAttributes=["ETag", "ObjectSize", "ObjectParts", "Checksum"])
    same(attributes["ObjectSize"], 2 * PART + 10)
    same(attributes["ObjectParts"]["TotalPartsCount"], 3)
    given_up = s3.create_multipart_upload(Bucket=BUCKET, Key="given-up")["UploadId"]
    s3.abort_multipart_upload(Bucket=BUCKET, Key="given-up", UploadId=given_up)
    same(code_of(s3.list_parts, Bucket=BUCKET, Key="given-up", UploadId=given_up), "NoSuchUpload")


def copies(s3):
    s3.copy_object(Bucket=BUCKET, Key="copy.txt", CopySource={"Bucket": BUCKET, "Key": "dir with space/ä+&?.txt"})
    got = s3.get_object(Bucket=BUCKET, Key="copy.txt")
    same(got["Body"].read(), "content of dir with space/ä+&?.txt".encode())
    same(got["Metadata"], {"colour": "blue"})
    s3.copy_object(Bucket=BUCKET, Key="copy.txt", CopySource={"Bucket": BUCKET, "Key": "copy.txt"},
                   MetadataDirective="REPLACE", Metadata={"colour": "red"}, ContentType="text/html")
    same(s3.head_object(Bucket=BUCKET, Key="copy.txt")["Metadata"], {"colour": "red"})
    s3.copy({"Bucket": BUCKET, "Key": "big.bin"}, BUCKET, "big-copy.bin")
    same(s3.head_object(Bucket=BUCKET, Key="big-copy.bin")["ContentLength"], BIG_BYTES)


def tags_and_acl(s3):
    wanted = [{"Key": "stage", "Value": "test"}, {"Key": "ä", "Value": ""}]
    s3.put_object_tagging(Bucket=BUCKET, Key="a.txt", Tagging={"TagSet": wanted})
    found = s3.get_object_tagging(Bucket=BUCKET, Key="a.txt")["TagSet"]
    same(sorted(tag["Key"] for tag in found), ["stage", "ä"])
    s3.delete_object_tagging(Bucket=BUCKET, Key="a.txt")
    same(s3.get_object_tagging(Bucket=BUCKET, Key="a.txt")["TagSet"], [])
    s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": wanted[:1]})
    same(s3.get_bucket_tagging(Bucket=BUCKET)["TagSet"], wanted[:1])
    s3.put_object_acl(Bucket=BUCKET, Key="a.txt", ACL="public-read")
    grants = s3.get_object_acl(Bucket=BUCKET, Key="a.txt")["Grants"]
    same([grant["Permission"] for grant in grants], ["FULL_CONTROL", "READ"])
    with opened(f"{URL}/{BUCKET}/a.txt") as answer:
        same(answer.read(), b"content of a.txt")
    s3.put_object_acl(Bucket=BUCKET, Key="a.txt", AccessControlPolicy={
        "Owner": s3.get_object_acl(Bucket=BUCKET, Key="a.txt")["Owner"], "Grants": grants[:1]})
    same(len(s3.get_object_acl(Bucket=BUCKET, Key="a.txt")["Grants"]), 1)


def documents(s3):
    rule = {"ID": "old", "Status": "Enabled", "Filter": {"Prefix": "tmp/"}, "Expiration": {"Days": 3}}
    s3.put_bucket_lifecycle_configuration(Bucket=BUCKET, LifecycleConfiguration={"Rules": [rule]})
    same(s3.get_bucket_lifecycle_configuration(Bucket=BUCKET)["Rules"][0]["ID"], "old")
    cors = {"CORSRules": [{"AllowedMethods": ["GET"], "AllowedOrigins": ["https://example.com"]}]}
    s3.put_bucket_cors(Bucket=BUCKET, CORSConfiguration=cors)
    same(s3.get_bucket_cors(Bucket=BUCKET)["CORSRules"], cors["CORSRules"])
    policy = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",' \
             f'"Resource":"arn:aws:s3:::{BUCKET}/dir/*"}}]}}'
    s3.put_bucket_policy(Bucket=BUCKET, Policy=policy)
    same(s3.get_bucket_policy_status(Bucket=BUCKET)["PolicyStatus"]["IsPublic"], True)
    with opened(f"{URL}/{BUCKET}/dir/b.txt") as answer:
        same(answer.read(), b"content of dir/b.txt")
    s3.delete_bucket_policy(Bucket=BUCKET)
    same(code_of(s3.get_bucket_policy, Bucket=BUCKET), "NoSuchBucketPolicy")
    s3.delete_bucket_cors(Bucket=BUCKET)
    s3.delete_bucket_lifecycle(Bucket=BUCKET)


def opened(url, **kwargs):
    context = ssl.create_default_context(cafile=AUTHORITY) if AUTHORITY else None
    return urllib.request.urlopen(urllib.request.Request(url, **kwargs), context=context)


def presigned(s3):
    target = {"Bucket": BUCKET, "Key": "presigned ü.txt"}
    put = s3.generate_presigned_url("put_object", Params=target, ExpiresIn=60)
    with opened(put, method="PUT", data=b"by url", headers={"Content-Type": ""}) as answer:
        same(answer.status, 200)
    get = s3.generate_presigned_url("get_object", Params=target, ExpiresIn=60)
    with opened(get) as answer:
        same(answer.read(), b"by url")
    same(refusal_of(get[:-1] + ("0" if get[-1] != "0" else "1"))[0], 403)


def refusal_of(url):
    try:
        with opened(url) as answer:
            raise AssertionError(f"{answer.status} for {url}")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def versions(s3):
    bucket = BUCKET + "-versions"
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    same(s3.get_bucket_versioning(Bucket=bucket)["Status"], "Enabled")
    ids = [s3.put_object(Bucket=bucket, Key="k", Body=body)["VersionId"] for body in (b"one", b"two")]
    same(s3.get_object(Bucket=bucket, Key="k", VersionId=ids[0])["Body"].read(), b"one")
    marker = s3.delete_object(Bucket=bucket, Key="k")
    assert marker["DeleteMarker"], marker
    same(code_of(s3.get_object, Bucket=bucket, Key="k"), "NoSuchKey")
    listed = s3.list_object_versions(Bucket=bucket)
    same([one["VersionId"] for one in listed["Versions"]], ids[::-1])
    same(listed["DeleteMarkers"][0]["VersionId"], marker["VersionId"])
    s3.delete_object(Bucket=bucket, Key="k", VersionId=marker["VersionId"])
    same(s3.get_object(Bucket=bucket, Key="k")["Body"].read(), b"two")
    same(code_of(s3.delete_bucket, Bucket=bucket), "BucketNotEmpty")
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": "k", "VersionId": one} for one in ids]})
    s3.delete_bucket(Bucket=bucket)


def locks(s3):
    bucket = BUCKET + "-locked"
    s3.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    version = s3.put_object(Bucket=bucket, Key="held", Body=b"held", ObjectLockLegalHoldStatus="ON")["VersionId"]
    same(code_of(s3.delete_object, Bucket=bucket, Key="held", VersionId=version), "AccessDenied")
    same(s3.get_object_legal_hold(Bucket=bucket, Key="held")["LegalHold"]["Status"], "ON")
    s3.put_object_legal_hold(Bucket=bucket, Key="held", LegalHold={"Status": "OFF"})
    s3.delete_object(Bucket=bucket, Key="held", VersionId=version)
    s3.delete_bucket(Bucket=bucket)


def cleared(s3):
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    keys = [{"Key": entry["Key"]} for page in pages for entry in page.get("Contents", [])]
    same(len(s3.delete_objects(Bucket=BUCKET, Delete={"Objects": keys})["Deleted"]), len(keys))
    s3.delete_bucket(Bucket=BUCKET)
    same(code_of(s3.head_bucket, Bucket=BUCKET), "404")


def main():
    for style in ["path", "virtual"]:
        s3 = client(style)
        s3.create_bucket(Bucket=BUCKET)
        assert BUCKET in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        s3.get_bucket_location(Bucket=BUCKET)
        listing(s3, small_objects(s3))
        if style == "path":
            large_object(s3)
            multipart(s3)
            copies(s3)
        for step in [tags_and_acl, documents, presigned, versions, locks, cleared]:
            step(s3)


main()
